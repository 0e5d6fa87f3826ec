"""Values that must never turn up anywhere: made here, used by the tests that look for them."""

# Built in two parts: a scanner for secrets should not take the test for a leak.
TOKEN = "ghp_" + "Zq7Lm2Xc9Vb4Nn8Kj3Hg6Fd1Sa5Pw0RtYuEi"
