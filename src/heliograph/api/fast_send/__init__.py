"""Everything that makes the one hot request cheap: `POST /api/v1/messages` and v2 without a task or an ASGI call.

`FastSends` is the server's `http.short_cut.ShortCut`. Without it, the same requests are answered by `api.app`.
"""
