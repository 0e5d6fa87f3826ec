"""What the API takes and gives: names, types and bounds of fields. No rule of the product."""
