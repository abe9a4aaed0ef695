"""Foreign LSTM weights, brought into our float model or refused with the reason."""

__all__ = ["ModelImportError"]


class ModelImportError(ValueError):
    """A foreign model that the engine cannot run, or that cannot be read."""
