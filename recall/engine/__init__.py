"""The pure half of recall: text to terms, terms to scores. No framework, clock, disk or index."""
