/** HTML and static files: the app shell, the login page, the icon and the assets. */
import { createHash } from 'node:crypto'
import { rightsOf } from '../lib/base/rights.ts'
import { LOOK } from '../lib/base/setting-defaults.ts'
import { directionOf, pageLanguage } from '../lib/base/languages.ts'
import { loginPage } from '../lib/people/login-page.ts'
import { loginLanguage, loginTexts } from '../lib/people/login-texts.ts'
import { SESSION_COOKIE } from '../lib/people/sign-ins.ts'
import { proxyIdentity } from '../lib/people/identities.ts'
import { relyingPartyOf } from '../lib/people/passkeys.ts'
import { type Ctx, endpoint, refusedRoutes } from '../lib/context.ts'
import { missing, UserError } from '../lib/errors.ts'
import { themeColor } from '../lib/base/theme-color.ts'
import { ARTIFACT_FRAME, ARTIFACT_POLICY } from '../lib/http/artifact-frame.ts'
import { isNotModified } from '../lib/http/etag.ts'
import { fillTemplate } from '../lib/http/html-template.ts'
import { empty, html, redirect } from '../lib/http/reply.ts'
import { assetReply } from '../lib/http/static.ts'

const templateOf = async ({ app }: Ctx, name: string) => {
  const asset = (await app.assets()).get(name)
  if (!asset) throw missing('not found')
  return asset
}

/** The texts that the page shows first, which it requests before it shows anything. */
const textLinks = (template: string, prefix: string, language: string): string => {
  const [version, ...names] = (/ data-texts="([^"]*)"/.exec(template)?.[1] ?? '').split(' ')
  return names
    .map(
      name =>
        `<${prefix}/static/${language}.${name}-${version}.json>; rel=preload; as=fetch; crossorigin=anonymous`,
    )
    .join(', ')
}

/** The nonce of the browser's cached copy, read from its ETag. */
const cachedNonce = (ifNoneMatch: string | undefined, tag: string): string | undefined => {
  const match = /"([\w-]+)\.([\w-]{22})"/.exec(ifNoneMatch ?? '')
  return match?.[1] === tag ? match[2] : undefined
}

const shellOf = (name: string, summary: string) =>
  endpoint({
    access: 'read',
    summary,
    page: true,
    raw: 'text/html',
    async run(ctx) {
      const template = await templateOf(ctx, name)
      const settings = ctx.app.personalSettings.of(ctx.person)
      const { theme, bot_name } = settings
      const language = pageLanguage(settings, ctx.req.headers['accept-language'])
      const values = {
        ...Object.fromEntries(LOOK.map(name => [name, settings[name]])),
        base: `${ctx.client.prefix}/`,
        theme_color: themeColor(theme),
        lang: language,
        dir: directionOf(language),
        bot_name,
        loading: loginTexts(loginLanguage(language)).loading,
        account: ctx.app.auth.account(ctx.cookies[SESSION_COOKIE]) ?? '',
        // In the page itself, so that nothing is offered before the settings have arrived.
        refused: refusedRoutes(ctx).join(','),
        // What the page requests may be answered before and after a change of them.
        rights: rightsOf(ctx.person),
      }
      const tag = createHash('sha1')
        .update(template.etag)
        .update(JSON.stringify(values))
        .digest('base64url')
      // A 304 brings new headers to a cached copy, so they must name the nonce that the copy contains.
      const cached = cachedNonce(ctx.req.headers['if-none-match'], tag)
      const nonce = ctx.nonce(cached)
      const etag = `"${tag}.${nonce}"`
      if (cached && isNotModified(ctx.req.headers['if-none-match'], etag))
        return empty({ status: 304, etag })
      const text = template.raw.toString()
      const headers = {
        Vary: 'Accept-Language',
        ...(language !== 'en' && { Link: textLinks(text, ctx.client.prefix, language) }),
      }
      return html(fillTemplate(text, { ...values, nonce }), { etag, headers })
    },
  })

export const shell = shellOf(
  'index.html',
  'The app shell; the browser renders the view of the path',
)

/** This and the next one are made from index.html by build/browser.mjs. */
export const homeShell = shellOf('home.html', 'The app shell, with the first page loaded at once')

export const chatShell = shellOf('chat.html', 'The app shell, with the transcript loaded at once')

/** False while the file of the people cannot be read: the page must work, and the sign-in says why it is closed. */
const unlessUnreadable = (answer: () => boolean): boolean => {
  try {
    return answer()
  } catch (error) {
    if (error instanceof UserError && error.kind === 'unavailable') return false
    throw error
  }
}

const partyOf = ({ app, client: { host, secure } }: Ctx) =>
  relyingPartyOf({ host, secure, allowedOrigins: app.config.allowedOrigins })

const offersPasskeys = (ctx: Ctx): boolean => {
  const { app } = ctx
  const rp = partyOf(ctx)
  if (rp === undefined || app.auth.mode() === 'setup') return false
  return unlessUnreadable(() => app.passkeys.isUsable(rp))
}

/** The proxy names a user who is no person here. */
const isUnknownUser = ({ app, user }: Ctx): boolean =>
  user !== undefined &&
  unlessUnreadable(() => app.identities.personOf(proxyIdentity(user)) === undefined)

export const login = endpoint({
  summary: 'The login page: one self-contained document',
  public: true,
  raw: 'text/html',
  cache: 'no-store',
  async run(ctx) {
    // Nothing to sign in with: a password that was typed here would be refused as wrong.
    if (!ctx.app.auth.enabled()) return redirect(`${ctx.client.prefix}/`)
    const settings = ctx.app.settings.get()
    const { theme, bot_name } = settings
    const template = await templateOf(ctx, 'features/sign-in/login.html')
    const { document, policy } = loginPage(template.raw.toString(), {
      base: `${ctx.client.prefix}/`,
      botName: bot_name,
      language:
        settings.language_from === 'browser'
          ? pageLanguage(settings, ctx.req.headers['accept-language'])
          : settings.language,
      theme,
      usesSetupToken: ctx.app.auth.mode() === 'setup',
      hasPasskeys: offersPasskeys(ctx),
      canHavePasskeys: partyOf(ctx) !== undefined,
      isUnknown: isUnknownUser(ctx),
      asksName: ctx.app.people.hasOthers(),
      provider: ctx.app.auth.mode() === 'setup' ? null : (ctx.app.oidc?.name ?? null),
    })
    return html(document, { policy })
  },
})

export const artifact = endpoint({
  access: 'read',
  summary: 'An empty sandboxed document, in which the page shows HTML with its scripts',
  raw: 'text/html',
  cache: 'no-store',
  run: () =>
    html(ARTIFACT_FRAME, {
      policy: ARTIFACT_POLICY,
      // A name that is looked up could carry data.
      headers: { 'X-DNS-Prefetch-Control': 'off' },
    }),
})

export const favicon = endpoint({
  summary: 'The favicon',
  public: true,
  raw: 'image/x-icon',
  async run(ctx) {
    const icon = (await ctx.app.assets()).get('/static/favicon.ico')
    return icon ? assetReply(icon, ctx.req.headers, 'public, max-age=86400') : empty()
  },
})

export const asset = endpoint({
  summary: 'A static asset',
  public: true,
  exact: true,
  raw: '*/*',
  async run(ctx) {
    const { path } = ctx.url
    // Templates are in the same table under names without a leading slash, which no path can match.
    const file = (await ctx.app.assets()).get(path)
    if (!file) throw missing('not found')
    return assetReply(file, ctx.req.headers)
  },
})
