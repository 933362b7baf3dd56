"""The figures of Liu, Scaglione and Peisert (2025), with Algorithm 1 as printed, its baselines, and strict releases."""
