"""The package of @NAME@."""
