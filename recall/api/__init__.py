"""The calls of the HTTP API about recall: a few lines each, no rule of their own."""
