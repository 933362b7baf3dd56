"""Whether what `sfumato plan` foresees comes true."""
