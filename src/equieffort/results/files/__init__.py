"""One audit, one file: written whole, and checked whole before anything in it is believed."""

from equieffort.results.files.audit_file import FORMAT, VERSION, load, save

__all__ = ["FORMAT", "VERSION", "load", "save"]
