"""Django's admin as one more face: lists over rows, forms that write through services."""
