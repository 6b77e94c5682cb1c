"""The fast path for the hot request: `POST /api/v1/messages` and v2, without a task or an ASGI call.

`FastSends` is the server's `http.short_cut.ShortCut`. Without it, `api.app` answers the same requests.
"""
