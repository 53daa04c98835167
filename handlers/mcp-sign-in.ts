/** Signing in to MCP servers (OAuth): start, the way back from the authorization server, sign-out. */
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { toSeconds } from '../lib/base/clock.ts'
import { SESSION_COOKIE } from '../lib/people/sign-ins.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid, UserError } from '../lib/errors.ts'
import { formatCookie } from '../lib/http/cookies.ts'
import { redirect } from '../lib/http/reply.ts'
import { McpServerRow } from '../lib/schema/mcp.ts'
import { Ok, ok } from '../lib/schema/ok.ts'

/** Recognizes the browser that began a sign-in. Sent to these endpoints only. */
const COOKIE = 'agent_mcp_sign_in'
const COOKIE_MS = 15 * 60_000
const PATH = '/api/mcp/oauth'

const Name = z.object({ name: z.string().min(1).max(200) })
const Server = Ok.extend({ server: McpServerRow.nullable() })

/** Of the query that authorization servers append. Anything else in it is ignored. */
const Part = z.string().max(8_000).optional().catch(undefined)
const Reply = z.object({ state: Part, code: Part, error: Part, iss: Part })

const serverOf = (ctx: Ctx, name: string) =>
  ctx.app.mcp.list(ctx.home).find(each => each.name === name) ?? null

const browserOf = ({ cookies }: Ctx, cookie = cookies[COOKIE] ?? '') => ({
  cookie,
  session: cookies[SESSION_COOKIE] ?? '',
})

export const start = endpoint({
  access: 'own',
  summary: 'Start the sign-in to an MCP server; the browser opens the returned address',
  cache: 'no-store',
  input: Name,
  output: Ok.extend({ url: z.string(), paste: z.boolean() }),
  async run(ctx, { name }) {
    const { prefix, secure, host } = ctx.client
    if (host === '') throw invalid('The Host header is missing')
    const cookie = ctx.cookies[COOKIE] || randomBytes(32).toString('base64url')
    const started = await ctx.app.mcp.signIns.start(ctx.home, name, {
      redirectUri: `${secure ? 'https' : 'http'}://${host}${prefix}${PATH}/callback`,
      browser: browserOf(ctx, cookie),
      signal: ctx.signal,
    })
    const path = `${prefix}${PATH}`
    ctx.setCookie(formatCookie(COOKIE, cookie, { maxAge: toSeconds(COOKIE_MS), secure, path }))
    return { ...ok, ...started }
  },
})

export const callback = endpoint({
  access: 'own',
  summary: 'Where the authorization server sends the browser; continues to the settings',
  cache: 'no-store',
  raw: 'text/html',
  effects: true,
  linked: true,
  input: Reply,
  async run(ctx, reply) {
    // A redirect in any case: the code must not stay in the address bar or the history.
    const settings = `${ctx.client.prefix}/settings/mcp`
    try {
      await ctx.app.mcp.signIns.finish(reply, { browser: browserOf(ctx) })
      return redirect(settings)
    } catch (error) {
      if (!(error instanceof UserError) || error.code !== 'sign_in_expired') throw error
      return redirect(`${settings}?sign_in=expired`)
    }
  },
})

const replyIn = (address: string) => {
  const query = address.includes('?') ? address.slice(address.indexOf('?') + 1) : address
  return Reply.parse(Object.fromEntries(new URLSearchParams(query.replace(/#.*/s, ''))))
}

export const finish = endpoint({
  access: 'own',
  summary: 'End a sign-in with the address that the browser was sent to but could not open',
  cache: 'no-store',
  input: z.object({ address: z.string().min(1).max(20_000) }),
  output: Server,
  async run(ctx, { address }) {
    const result = await ctx.app.mcp.signIns.finish(replyIn(address.trim()), { home: ctx.home })
    return { ...ok, server: serverOf(ctx, result.name) }
  },
})

export const cancel = endpoint({
  access: 'own',
  summary: 'Cancel a sign-in that waits for the browser',
  input: Name,
  output: Server,
  run(ctx, { name }) {
    ctx.app.mcp.signIns.cancel(ctx.home, name)
    return { ...ok, server: serverOf(ctx, name) }
  },
})

export const signOut = endpoint({
  access: 'own',
  summary: 'Sign out of an MCP server: delete its tokens, and revoke them where possible',
  input: Name,
  output: Server.extend({ problem: z.string().nullable() }),
  async run(ctx, { name }) {
    const problem = await ctx.app.mcp.signIns.signOut(ctx.home, name)
    return { ...ok, server: serverOf(ctx, name), problem }
  },
})
