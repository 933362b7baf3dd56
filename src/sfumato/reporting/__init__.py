"""What a release shows to everyone: the report, and the short form of a notebook.

Public output. Everything here is made from the release alone (noisy answers, the model that was made of them, the
public schema), so it is post-processing: it costs no privacy, and may be published wherever the release may. No module
of this package reads a table or reaches the private side; an import contract keeps it so.
"""
