/** What makes the page an installable app: the manifest, the service worker, and what other apps share with it. */
import { endpoint } from '../lib/context.ts'
import { missing } from '../lib/errors.ts'
import { themeColor } from '../lib/base/theme-color.ts'
import { readForm } from '../lib/http/multipart.ts'
import { bytes, redirect } from '../lib/http/reply.ts'
import { assetReply } from '../lib/http/static.ts'

const ICONS = [
  { src: 'static/favicon.svg', sizes: 'any', type: 'image/svg+xml', purpose: 'any' },
  { src: 'static/icon-192.png', sizes: '192x192', type: 'image/png', purpose: 'any' },
  { src: 'static/icon-512.png', sizes: '512x512', type: 'image/png', purpose: 'any' },
  {
    src: 'static/icon-maskable-512.png',
    sizes: '512x512',
    type: 'image/png',
    purpose: 'maskable',
  },
]

export const manifest = endpoint({
  summary: 'The web app manifest',
  public: true,
  raw: 'application/manifest+json',
  run(ctx) {
    const { bot_name: name, theme } = ctx.app.settings.get()
    const color = themeColor(theme)
    // Addresses are relative to this one, so they are right below any path.
    const text = JSON.stringify({
      name,
      short_name: name,
      id: './',
      start_url: './',
      scope: './',
      display: 'standalone',
      background_color: color,
      theme_color: color,
      icons: ICONS,
      // Received by the service worker, see public/sw/shared.ts.
      share_target: {
        action: 'share-target',
        method: 'POST',
        enctype: 'multipart/form-data',
        params: {
          title: 'title',
          text: 'text',
          url: 'url',
          files: [{ name: 'files', accept: ['*/*'] }],
        },
      },
    })
    return bytes(text, { type: 'application/manifest+json' })
  },
})

/** Its scope is its folder, so it is not below /static. */
export const worker = endpoint({
  summary: 'The service worker',
  public: true,
  raw: 'application/javascript',
  async run(ctx) {
    const script = (await ctx.app.assets()).get('sw.js')
    if (!script) throw missing('not found')
    return assetReply(script, ctx.req.headers, 'no-cache')
  },
})

/** What another app shares, as the manifest says. */
const FIELDS = ['title', 'text', 'url']
/** Proxies limit the headers of a reply, often to 4 kB. */
const MAX_FRAGMENT = 3_000

/** While no service worker receives it, for example after the browser has removed it. */
export const share = endpoint({
  summary: 'Text shared by another app: redirects to a new chat with the text in the fragment',
  // It has no effect and stores nothing; the page it leads to requires the sign-in.
  public: true,
  linked: true,
  multipart: true,
  raw: 'text/html',
  async run({ app, client, req }) {
    app.disk.requireRoom()
    using form = await readForm(req, app.files.incomingDir, { field: '' })
    const shared = new URLSearchParams()
    for (const name of FIELDS) if (form.fields[name]) shared.set(name, form.fields[name])
    const isTooLong = `${shared}`.length > MAX_FRAGMENT
    // The page asks to share again what is missing: by then the service worker is there.
    const parameters = isTooLong ? new URLSearchParams() : shared
    if (isTooLong || form.hasOtherFiles) parameters.set('missing', '1')
    // No server or proxy sees a fragment.
    return redirect(`${client.prefix}/?shared#${parameters}`)
  },
})
