"""How conversations become memory: a language model proposes, checked rules decide."""
