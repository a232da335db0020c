"""Log-probabilities of language models: responses of APIs and servers as credal sets."""
