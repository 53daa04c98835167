/** Signing in to an MCP server: a real authorization server, and a server that accepts only its tokens. */
import { createTestClock, type TestClock } from '../../_clock.ts'
import { systemClock } from '../../../lib/base/clock.ts'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../../_call.ts'
import type { Tool, ToolResult } from '../../../lib/agent/types.ts'
import { UserError } from '../../../lib/errors.ts'
import { Mcp } from '../../../lib/mcp/mcp.ts'
import type { Browser, SignInReply } from '../../../lib/mcp/oauth/sign-ins.ts'
import { serversFor } from '../../../lib/turns/context/external-agent-mcp.ts'
import { type Home, openHome } from '../../../lib/profiles/home.ts'
import { KnownSecrets } from '../../../lib/profiles/known-secrets.ts'
import {
  browse,
  type ProtectedOptions,
  type ProtectedServer,
  startProtected,
} from './_protected-server.ts'
import { tempDir } from '../../_temp-dir.ts'

type World = { dir: string; mcp: Mcp; clock: TestClock; close: (() => Promise<void>)[] }

const test = suite<World>('mcp sign-in')
test.before.each(state => {
  state.dir = tempDir('mcp-oauth')
  state.clock = createTestClock(Date.now())
  state.mcp = new Mcp({ version: '1', clock: state.clock, idleMs: 30 * 86_400_000 })
  state.close = []
})
test.after.each(async ({ mcp, dir, close }) => {
  await mcp.close()
  for (const one of close) await one()
  rmSync(dir, { recursive: true, force: true })
})

const never = new AbortController().signal
const REDIRECT = 'http://127.0.0.1:8787/api/mcp/oauth/callback'
const BROWSER: Browser = { cookie: 'a', session: 's' }

const protectedBy = async (world: World, options?: ProtectedOptions): Promise<ProtectedServer> => {
  const server = await startProtected(options)
  world.close.push(() => server.close())
  return server
}

const writeServers = (path: string, servers: Record<string, unknown>) =>
  writeFileSync(join(path, 'config.yaml'), JSON.stringify({ mcp_servers: servers }))

const homeOf = (dir: string, name: string, servers: Record<string, unknown>): Home => {
  const path = join(dir, name)
  mkdirSync(path, { recursive: true })
  writeServers(path, servers)
  return openHome({ name, dir: path, env: { PATH: process.env.PATH ?? '' }, clock: systemClock })
}

const start = (mcp: Mcp, home: Home, redirectUri = REDIRECT) =>
  mcp.signIns.start(home, 'p', { redirectUri, browser: BROWSER, signal: never })

/** What the authorization server sends the browser back with. */
const replyOf = async (url: string, redirectUri = REDIRECT): Promise<SignInReply> =>
  Object.fromEntries(new URL(await browse(url, at => at.href.startsWith(redirectUri))).searchParams)

const signIn = async (mcp: Mcp, home: Home) => {
  const { url } = await start(mcp, home)
  return mcp.signIns.finish(await replyOf(url), { browser: BROWSER })
}

const reject = async (work: Promise<unknown>): Promise<UserError> => {
  try {
    await work
  } catch (error) {
    assert.instance(error, UserError)
    return error as UserError
  }
  throw new Error('it should have been rejected')
}

const rowOf = (mcp: Mcp, home: Home) => {
  const [row] = mcp.list(home)
  if (!row) throw new Error('there is no server')
  return row
}

const callTool = async (mcp: Mcp, home: Home): Promise<ToolResult> => {
  const { tools, warnings } = await mcp.tools(home, never)
  const tool: Tool | undefined = tools.find(({ name }) => name === 'mcp_p_whoami')
  if (!tool) throw new Error(warnings.join(' '))
  return tool.run(callContext(), {})
}

const whyNot = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it did not fail',
    (error: Error) => error.message,
  )

const tokenFile = (mcp: Mcp, home: Home): string => {
  const dir = join(home.dir, 'mcp-tokens', 'agent-webui')
  assert.is(rowOf(mcp, home).sign_in.state, 'signed_in')
  const [name = ''] = readdirSync(dir).filter(each => each.endsWith('.json'))
  return join(dir, name)
}

test('a turn continues without a server that requires a sign-in, and starts none by itself', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  const { tools, warnings } = await mcp.tools(home, never)
  assert.equal(tools, [])
  assert.match(`${warnings[0]}`, 'requires a sign-in')
  assert.match(`${warnings[0]}`, 'Settings')
  assert.equal(rowOf(mcp, home).sign_in, {
    ...{ state: 'needed', host: null, paste: false, failure: null },
  })
  assert.equal(
    server.hits.filter(({ path }) => path.startsWith('auth:')),
    [],
  )
})

test('rejects a wrong, replayed, foreign, or expired reply', async world => {
  const { mcp, dir, clock } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  const other = homeOf(dir, 'b', { p: { url: server.url } })
  const { url } = await start(mcp, home)
  const reply = await replyOf(url)
  const finish = (changed: SignInReply, from: Parameters<typeof mcp.signIns.finish>[1]) =>
    reject(mcp.signIns.finish({ ...reply, ...changed }, from))
  for (const [changed, from] of [
    [{ state: 'x'.repeat(43) }, { browser: BROWSER }],
    [{ state: undefined }, { browser: BROWSER }],
    [{}, { browser: { ...BROWSER, cookie: 'b' } }],
    [{}, { browser: { ...BROWSER, session: 't' } }],
    [{}, { browser: { cookie: '', session: '' } }],
    [{}, { home: other }],
  ] as [SignInReply, Parameters<typeof mcp.signIns.finish>[1]][])
    assert.is((await finish(changed, from)).code, 'sign_in_expired')
  await clock.advance(10 * 60_000)
  assert.is((await finish({}, { browser: BROWSER })).code, 'sign_in_expired')

  const again = await start(mcp, home)
  const second = await replyOf(again.url)
  assert.is((await mcp.signIns.finish(second, { browser: BROWSER })).ok, true)
  assert.is(
    (await reject(mcp.signIns.finish(second, { browser: BROWSER }))).code,
    'sign_in_expired',
  )
  assert.is(rowOf(mcp, other).sign_in.state, 'none')
})

test('a second start voids the first', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  const first = await replyOf((await start(mcp, home)).url)
  // Two at the same time, as from two devices: the later one counts.
  const [one, two] = await Promise.all([start(mcp, home), start(mcp, home)])
  assert.is((await reject(mcp.signIns.finish(first, { browser: BROWSER }))).code, 'sign_in_expired')
  const ended = await Promise.allSettled(
    [one, two].map(async ({ url }) => mcp.signIns.finish(await replyOf(url), { browser: BROWSER })),
  )
  assert.equal(ended.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await mcp.signIns.signOut(home, 'p')
  await start(mcp, home)
  mcp.signIns.cancel(home, 'p')
  assert.is(rowOf(mcp, home).sign_in.state, 'needed')
})

test('reports a denial, another issuer, a missing code, and a changed address', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world, { denies: true })
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  const failure = async (change: (reply: SignInReply) => SignInReply): Promise<string> => {
    const reply = await replyOf((await start(mcp, home)).url)
    const ended = await mcp.signIns.finish(change(reply), { browser: BROWSER })
    assert.is(ended.ok, false)
    return rowOf(mcp, home).sign_in.failure ?? ''
  }
  assert.match(await failure(reply => reply), 'canceled or denied')
  server.state.denies = false
  assert.match(await failure(reply => ({ ...reply, iss: 'https://evil.example' })), 'another auth')
  assert.match(await failure(reply => ({ ...reply, iss: undefined })), 'another auth')
  assert.match(await failure(({ code: _, ...reply }) => reply), 'no code')
  assert.match(await failure(reply => ({ ...reply, code: 'stolen' })), 'invalid_grant')
  const markup = await failure(({ code: _, ...reply }) => ({ ...reply, error: '<b>\u202e' }))
  assert.not.match(markup, '\u202e')
  const moved = await failure(reply => {
    writeServers(home.dir, { p: { url: `${server.url}?other` } })
    return reply
  })
  assert.match(moved, 'has changed')
  assert.is(rowOf(mcp, home).sign_in.state, 'none')
})

test('signs in, keeps the tokens private and known as secrets, and uses them for this address only', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  assert.is((await signIn(mcp, home)).ok, true)
  assert.is((await callTool(mcp, home)).content, 'ada')
  const { sign_in: shown, error } = rowOf(mcp, home)
  assert.equal(shown, {
    ...{ state: 'signed_in', host: new URL(server.issuer).host, paste: false, failure: null },
  })
  assert.is(error, null)
  const path = tokenFile(mcp, home)
  assert.is(statSync(path).mode & 0o777, 0o600)
  const stored = JSON.parse(readFileSync(path, 'utf8'))
  assert.is(stored.resource, server.url)
  const secrets = new KnownSecrets(() => [home]).list()
  assert.ok(secrets.includes(stored.grant.access_token))
  assert.ok(secrets.includes(stored.grant.refresh_token))
  assert.not.ok(secrets.includes(stored.grant.scope))

  // Another address of the same name gets no token.
  const seen: (string | undefined)[] = []
  const thief = createServer((req, res) => {
    seen.push(req.headers.authorization)
    res.writeHead(401).end()
  })
  await new Promise<void>(resolve => thief.listen(0, '127.0.0.1', resolve))
  world.close.push(() => new Promise(resolve => thief.close(() => resolve())))
  const elsewhere = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/mcp`
  writeServers(home.dir, { p: { url: elsewhere } })
  await immediate()
  assert.match(`${(await mcp.tools(home, never)).warnings[0]}`, 'requires a sign-in')
  assert.ok(seen.length > 0)
  assert.ok(seen.every(header => header === undefined))
  // External agents get the address, never the token.
  writeServers(home.dir, { p: { url: server.url, auth: 'oauth' } })
  assert.not.match(JSON.stringify(serversFor(home.config(), undefined)), stored.grant.access_token)
})

test('renews a token before it expires, once for calls at the same time, and keeps the rotated one', async world => {
  const { mcp, dir, clock } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  await callTool(mcp, home)
  const path = tokenFile(mcp, home)
  const before = JSON.parse(readFileSync(path, 'utf8')).grant
  const renewals = () => server.hits.filter(({ path: at }) => at === 'auth:/token').length
  assert.is(renewals(), 1)
  await clock.advance(3_590_000)
  await Promise.all([callTool(mcp, home), callTool(mcp, home), callTool(mcp, home)])
  assert.is(renewals(), 2)
  const after = JSON.parse(readFileSync(path, 'utf8')).grant
  assert.is.not(after.access_token, before.access_token)
  assert.is.not(after.refresh_token, before.refresh_token)
  assert.is(after.scope, before.scope)

  // Another process, as after kill -9: only what is on disk.
  const next = new Mcp({
    version: '1',
    clock: { ...clock, now: () => clock.now() + 3_590_000 },
  })
  world.close.push(() => next.close())
  assert.is((await callTool(next, home)).content, 'ada')
  assert.is(renewals(), 3)
  // The first one finds the tokens of the other.
  await clock.advance(3_590_000)
  assert.is((await callTool(mcp, home)).content, 'ada')
  assert.is(renewals(), 3)
})

test('renews a rejected token once; without an answer of the authorization server the call fails for now', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  await callTool(mcp, home)
  const path = tokenFile(mcp, home)
  const spoil = () => {
    const stored = JSON.parse(readFileSync(path, 'utf8'))
    stored.grant.access_token = 'expired-there-but-not-here'
    writeFileSync(path, JSON.stringify(stored))
  }
  spoil()
  assert.is((await callTool(mcp, home)).content, 'ada')
  spoil()
  server.state.authDown = true
  await world.clock.advance(60_000)
  assert.match(await whyNot(callTool(mcp, home)), 'could not be renewed')
  assert.is(rowOf(mcp, home).sign_in.state, 'signed_in')
  server.state.authDown = false
  assert.is((await callTool(mcp, home)).content, 'ada')
})

test('a rejected refresh token asks for a new sign-in and does not end the turn', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  await callTool(mcp, home)
  const path = tokenFile(mcp, home)
  const stored = JSON.parse(readFileSync(path, 'utf8'))
  stored.grant = { ...stored.grant, access_token: 'gone', refresh_token: 'gone' }
  writeFileSync(path, JSON.stringify(stored))
  assert.match(await whyNot(callTool(mcp, home)), /Sign in/)
  assert.is(rowOf(mcp, home).sign_in.state, 'needed')
  assert.match(`${(await mcp.tools(home, never)).warnings[0]}`, 'requires a sign-in')
  assert.is((await signIn(mcp, home)).ok, true)
  assert.is((await callTool(mcp, home)).content, 'ada')
})

test('a server that rejects a renewed token asks for a sign-in instead of a loop', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  await callTool(mcp, home)
  server.state.rejectAll = true
  server.hits.length = 0
  assert.match(await whyNot(callTool(mcp, home)), /Sign in/)
  assert.ok(server.hits.length <= 3, `${server.hits.length} requests`)
})

test('a call that needs more permissions asks for a sign-in with them', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world, { callScope: 'mcp:write' })
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  assert.match(await whyNot(callTool(mcp, home)), 'more permissions')
  assert.is(rowOf(mcp, home).sign_in.state, 'needed')
  // Its other tools, and calls that run at the same time, are not affected.
  assert.is(rowOf(mcp, home).state, 'ready')
  const { url } = await start(mcp, home)
  const scope = new URL(url).searchParams.get('scope')?.split(' ') ?? []
  assert.ok(scope.includes('mcp') && scope.includes('mcp:write'), scope.join(' '))
  await mcp.signIns.finish(await replyOf(url), { browser: BROWSER })
  assert.is((await callTool(mcp, home)).content, 'ada')
})

test('signing out deletes and revokes the tokens', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  await callTool(mcp, home)
  const path = tokenFile(mcp, home)
  const { grant } = JSON.parse(readFileSync(path, 'utf8'))
  assert.is(await mcp.signIns.signOut(home, 'p'), null)
  assert.throws(() => statSync(path))
  assert.is(rowOf(mcp, home).sign_in.state, 'none')
  assert.is(await server.provider.AccessToken.find(grant.access_token), undefined)
  assert.match(`${(await mcp.tools(home, never)).warnings[0]}`, 'requires a sign-in')
  // Nothing to sign out of.
  assert.is(await mcp.signIns.signOut(home, 'p'), null)
  assert.is(await mcp.signIns.signOut(home, 'none'), null)
})

test('a renewal that ends after the sign-out, or after a new sign-in, changes nothing', async world => {
  const { mcp, dir, clock } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  await callTool(mcp, home)
  const path = tokenFile(mcp, home)
  /** What happens while the authorization server renews the token. */
  const renewing = async (work: () => Promise<unknown>): Promise<string> => {
    await clock.advance(3_590_000)
    server.state.onTokenRequest = async () => {
      server.state.onTokenRequest = async () => {}
      await work()
    }
    return whyNot(callTool(mcp, home))
  }
  let later = ''
  await renewing(async () => {
    await signIn(mcp, home)
    later = readFileSync(path, 'utf8')
  })
  assert.is(readFileSync(path, 'utf8'), later)
  assert.is((await callTool(mcp, home)).content, 'ada')
  assert.match(await renewing(() => mcp.signIns.signOut(home, 'p')), /sign-in|Sign in|lost/)
  assert.throws(() => statSync(path))
  assert.is(rowOf(mcp, home).sign_in.state, 'none')
})

test('tokens that could not be revoked are deleted all the same', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  await signIn(mcp, home)
  server.state.authDown = true
  assert.match((await mcp.signIns.signOut(home, 'p')) ?? '', 'did not revoke')
  assert.is(rowOf(mcp, home).sign_in.state, 'none')
})

test('an authorization server that accepts only loopback addresses: the address is pasted', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world, { isLoopbackOnly: true })
  const home = homeOf(dir, 'a', { p: { url: server.url } })
  const started = await start(mcp, home, 'http://192.168.1.5:8787/api/mcp/oauth/callback')
  assert.is(started.paste, true)
  assert.is(rowOf(mcp, home).sign_in.paste, true)
  const reply = await replyOf(started.url, 'http://127.0.0.1:33418/callback')
  assert.is((await mcp.signIns.finish(reply, { home })).ok, true)
  assert.is((await callTool(mcp, home)).content, 'ada')
})

test('uses a configured client and its redirect address', async world => {
  const { mcp, dir } = world
  const server = await protectedBy(world)
  const oauth = { client_id: 'mine', redirect_port: 4567, scope: 'mcp' }
  const home = homeOf(dir, 'a', { p: { url: server.url, auth: 'oauth', oauth } })
  assert.is(rowOf(mcp, home).sign_in.state, 'offered')
  const { url, paste } = await start(mcp, home)
  const { searchParams: query } = new URL(url)
  assert.equal(
    [paste, query.get('client_id'), query.get('redirect_uri'), query.get('scope')],
    [true, 'mine', 'http://127.0.0.1:4567/callback', 'mcp'],
  )
})

test('refuses a resource of another server, and an authorization server that claims to be another', async world => {
  const { mcp, dir } = world
  for (const [metadata, said] of [
    [{ resource: 'https://bank.example/' }, 'another server'],
    [{ authorization_servers: ['http://169.254.169.254'] }, 'not on the public internet'],
    [{ authorization_servers: ['http://metadata.google.internal'] }, 'not on the public internet'],
    [{ authorization_servers: ['http://10.0.0.1'] }, 'not an https address'],
  ] as const) {
    const server = await protectedBy(world, { metadata: real => ({ ...real, ...metadata }) })
    const home = homeOf(dir, said, { p: { url: server.url } })
    assert.match((await reject(start(mcp, home))).message, said)
  }
})

test.run()
