"""What leaves for a webhook: which address may be reached, the signature, the call, the attempts.

`banks.feed` makes deliveries out of the journal, `banks.services.webhooks` is what people change.
"""
