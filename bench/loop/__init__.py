"""The same job end to end on any gateway: HTTP request, submit_sm, answer, receipt, callback."""
