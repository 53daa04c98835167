/** The page that a browser shows without a network when it has no stored copy of the app, for example after signing out. */

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<title>Offline</title>
<style>
body { margin: 20vh auto; max-width: 24rem; padding: 0 16px; font: 1rem/1.6 system-ui; }
h1 { font-size: 1.25rem; }
</style>
<h1>You’re offline</h1>
<p>Can’t reach the server. Check your connection, then reload this page.</p>
`

export const offlinePage = (): Response =>
  new Response(HTML, {
    status: 503,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    },
  })
