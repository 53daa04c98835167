/** Share links: off by default, hashed, expiring, revocable, and a page that shows only what was chosen and runs nothing. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp, tokenHeaders } from '../_app.ts'

const shares = suite<{ app: TestApp }>('share links')
shares.before.each(async context => {
  context.app = await startApp()
})
shares.after.each(({ app }) => app.close())

const withApp =
  (run: (app: TestApp) => Promise<void>, env: Record<string, string> = {}) =>
  async () => {
    await using app = await startApp({ env })
    await run(app)
  }

const call = (id: string, name: string, args: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
})

const SECRET = 'sk-abcdefghijklmnopqrstuvwxyz012345'

const chat = (home: string) => ({
  title: 'Fix <b>the</b> build',
  messages: [
    { role: 'system', content: 'SYSTEM-PROMPT' },
    { role: 'user', content: `Why does it fail? The key is ${SECRET}`, timestamp: 1_760_000_000 },
    {
      role: 'assistant',
      content: '',
      reasoning: 'REASONING',
      tool_calls: [
        call('c1', 'terminal', { command: 'npm test -- COMMAND' }),
        call('c2', 'read_file', { path: `${home}/FILE-PATH` }),
        call('c3', 'read_file', { path: `${home}/FILE-PATH-2` }),
        call('c4', 'mcp_notes_get', { note: 'MCP-INPUT' }),
        call('c5', 'terminal', { command: 'NOT-RUN-DENIED' }),
        call('c6', 'write_file', { path: 'NOT-RUN-REFUSED' }),
        call('c7', 'terminal', { command: 'NOT-RUN-WAITS' }),
      ],
    },
    {
      role: 'tool',
      tool_call_id: 'c1',
      content: JSON.stringify({ output: `<i>PRINTED</i> in ${home}/x`, exit_code: 1, cwd: 'CWD' }),
    },
    { role: 'tool', tool_call_id: 'c2', content: JSON.stringify({ content: 'FILE-CONTENT' }) },
    { role: 'tool', tool_call_id: 'c3', content: JSON.stringify({ content: 'FILE-CONTENT' }) },
    { role: 'tool', tool_call_id: 'c4', content: 'MCP-OUTPUT' },
    {
      role: 'tool',
      tool_call_id: 'c5',
      content: JSON.stringify({ status: 'blocked', output: '', exit_code: -1, error: 'Denied' }),
    },
    { role: 'tool', tool_call_id: 'c6', content: 'The words of a hook', _refused_by: 'plan' },
    { role: 'assistant', content: `It fails in **${home}/project/a.ts**.` },
    { role: 'assistant', content: 'PROVIDER-ERROR', _error: true },
  ],
})

const addChat = async (app: TestApp, given: object = chat(app.userHome)): Promise<string> => {
  const { status, body } = await app.post('/api/session/import', given)
  assert.is(status, 200)
  return body.session.session_id
}

const turnOn = (app: TestApp) => app.post('/api/shares/enable', { enabled: true })

const share = async (app: TestApp, session_id: string, options: object = {}) => {
  const { status, body } = await app.post('/api/shares/create', { session_id, ...options })
  assert.is(status, 200, JSON.stringify(body))
  return { token: body.token as string, id: body.share.id as string, path: `/share/${body.token}` }
}

shares(
  'off by default: no link can be made (409); turned off, a link that was made is a 404',
  async ({ app }) => {
    const session_id = await addChat(app)
    assert.equal((await app.get('/api/shares')).body, { enabled: false, shares: [] })
    assert.is((await app.post('/api/shares/create', { session_id })).status, 409)
    await turnOn(app)
    const { path } = await share(app, session_id)
    await app.post('/api/shares/enable', { enabled: false })
    assert.is((await app.get(path)).status, 404)
    await turnOn(app)
    assert.is((await app.get(path)).status, 200)
  },
)

shares('rejects unknown chats, lifetimes outside 1 to 90 days, and API tokens', async ({ app }) => {
  await turnOn(app)
  const session_id = await addChat(app)
  assert.is((await app.post('/api/shares/create', { session_id: 'abcdef123456' })).status, 404)
  for (const days of [0, 91, 1.5, -1, '7'])
    assert.is((await app.post('/api/shares/create', { session_id, days })).status, 400, `${days}`)
  const headers = await tokenHeaders(app)
  await app.post('/api/settings', { _set_password: 'a long password' })
  assert.is((await app.post('/api/shares/create', { session_id }, { headers })).status, 401)
  assert.is((await app.get('/api/shares', { headers })).status, 401)
  const preview = `/api/shares/preview?session_id=${session_id}`
  assert.is((await app.get(preview, { headers })).status, 401)
})

shares(
  'unknown, revoked, expired and turned-off links and those of deleted chats and profiles have the same response; guesses are limited (429)',
  async ({ app }) => {
    const start = async () => {
      // A restart forgets the attempts.
      await app.restart()
      return turnOn(app)
    }
    await start()
    const session_id = await addChat(app)
    const found = async (path: string) => {
      const { status, text, headers } = await app.get(path)
      const { date: _, 'x-request-id': _id, ...rest } = headers
      return { status, text, headers: rest }
    }
    const unknown = await found(`/share/awl_${'A'.repeat(43)}`)
    assert.is(unknown.status, 404)
    assert.match(unknown.text, 'This link isn’t available')
    const revoked = await share(app, session_id)
    await app.post('/api/shares/revoke', { id: revoked.id })
    assert.equal(await found(revoked.path), unknown)
    assert.equal(await found('/share/x'), unknown)

    const deleted = await share(app, session_id)
    await app.post('/api/session/delete', { session_id })
    assert.equal(await found(deleted.path), unknown)
    await app.post('/api/session/restore', { session_id })
    assert.is((await found(deleted.path)).status, 200)
    assert.equal(await found(`/share/${session_id}`), unknown)

    await start()
    const file = join(app.state, 'shares.json')
    const stored = JSON.parse(readFileSync(file, 'utf8'))
    stored.shares[0].expires_at = 1_700_000_000
    writeFileSync(file, JSON.stringify(stored))
    await start()
    assert.equal(await found(deleted.path), unknown)
    assert.equal((await app.get('/api/shares')).body.shares, [])

    await app.post('/api/profile/create', { name: 'other' })
    const theirs = await share(app, session_id)
    const other = JSON.parse(readFileSync(file, 'utf8'))
    other.shares[0].profile = 'other'
    writeFileSync(file, JSON.stringify(other))
    await start()
    assert.is((await found(theirs.path)).status, 200)
    await app.post('/api/profile/delete', { name: 'other' })
    assert.equal(await found(theirs.path), unknown)
    await app.post('/api/profile/create', { name: 'other' })
    assert.equal(await found(theirs.path), unknown)

    const right = await share(app, session_id)
    const statuses: number[] = []
    for (let at = 0; at < 6; at++) statuses.push((await app.get(`/share/awl_${at}`)).status)
    assert.is(statuses.at(-1), 429)
    assert.is((await app.get(right.path)).status, 200)
  },
)

shares(
  'only GET and HEAD exist, cookies are neither read nor set, and nothing may store, frame, index or follow the page',
  withApp(
    async app => {
      const login = await app.post('/api/auth/login', { password: 'correct horse' })
      const cookie = (login.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
      const signedIn = { headers: { cookie } }
      await app.post('/api/shares/enable', { enabled: true }, signedIn)
      const added = await app.post('/api/session/import', chat(app.userHome), signedIn)
      const { session_id } = added.body.session
      const made = await app.post('/api/shares/create', { session_id }, signedIn)
      const path = `/share/${made.body.token}`

      for (const method of ['POST', 'PUT', 'DELETE'])
        assert.is((await app.request(method, path)).status, 405, method)
      const head = await app.request('HEAD', path)
      assert.equal([head.status, head.text], [200, ''])
      const listed = await app.get('/api/shares', signedIn)
      assert.is(listed.body.shares[0].opened_at, null)

      const answer = await app.get(`${path}?next=%0d%0aSet-Cookie:a=b`, {
        headers: { cookie: 'agent_profile=nobody; agent_session=wrong' },
      })
      assert.is(answer.status, 200)
      const { headers } = answer
      assert.is(headers['set-cookie'], undefined)
      assert.is(headers['cache-control'], 'no-store')
      assert.is(headers.etag, undefined)
      assert.is(headers['referrer-policy'], 'no-referrer')
      assert.is(headers['x-robots-tag'], 'noindex, nofollow, noarchive')
      assert.is(headers['x-frame-options'], 'DENY')
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /^sandbox allow-popups /)
      assert.match(policy, "default-src 'none'")
      assert.not.match(policy, /script-src|unsafe|https?:/)
      // Below it there is nothing, and without the link the chat stays behind the password.
      assert.is((await app.get(`${path}/x`)).status, 302)
      assert.is((await app.get(`/api/session?session_id=${session_id}`)).status, 401)
    },
    { AGENT_WEBUI_PASSWORD: 'correct horse' },
  ),
)

shares('hostile titles, links, tables, code and raw HTML stay text', async ({ app }) => {
  await turnOn(app)
  const hostile = [
    '<script>alert(1)</script><img src=x onerror=alert(1)>',
    '[a](javascript:alert(1)) [b](data:text/html,x) [c](JaVaScRiPt&colon;alert(1)) [d](https://a.example/"onmouseover="x)',
    '![p](https://tracker.example/p.png) ![q](data:image/svg+xml;base64,AAAA) MEDIA:/home/me/.ssh/id_rsa.png',
    '| <svg onload=alert(1)> | `</code><script>` |\n|---|---|\n| "><script>x</script> | <https://ok.example> |',
    '```html"><script>\n</code></pre><script>alert(1)</script>\n```',
    '[^1]\n\n[^1]: <script>note</script>',
    '$x<script>$ <a href="javascript:alert(1)">raw</a> [bank.example](https://evil.example)',
  ].join('\n\n')
  const session_id = await addChat(app, {
    title: '</title><script>alert(1)</script>\r\nSet-Cookie: a=b',
    messages: [
      { role: 'user', content: '</p><script>alert(1)</script>', attachments: ['<img src=x>.png'] },
      {
        role: 'assistant',
        content: hostile,
        tool_calls: [call('c', '<script>x</script>', { command: '</pre><script>' })],
      },
      { role: 'tool', tool_call_id: 'c', content: JSON.stringify({ output: hostile }) },
      { role: 'assistant', content: `${'> '.repeat(5_000)}<script>deep</script>` },
    ],
  })
  const { path } = await share(app, session_id, { tool_output: true, pictures: true })
  const { status, text, headers } = await app.get(path)
  assert.is(status, 200)
  assert.is(headers['set-cookie'], undefined)
  // The only markup is that of the page: no element that runs or loads, no event handler, no other address.
  assert.not.match(text, /<(script|img|svg|iframe|object|link|form|base)\b/i)
  assert.not.match(text.replaceAll(/>[^<]*</g, '><'), /\son\w+=|javascript:|srcdoc/i)
  const addresses = [...text.matchAll(/<a href="([^"]*)"/g)].map(match => match[1])
  assert.equal(addresses, [
    'https://a.example/%22onmouseover=%22x',
    'https://ok.example/',
    'https://evil.example/',
  ])
  assert.match(text, '<bdi class="host">(evil.example)</bdi>')
  assert.not.match(text, '/home/me')
})

const PRIVATE =
  /SYSTEM-PROMPT|REASONING|FILE-PATH|FILE-CONTENT|MCP-|PROVIDER-ERROR|CWD|abcdefghijklmnop/

shares(
  'shows title, messages and answers, and one line per tool; secrets and paths of the home are masked',
  async ({ app }) => {
    await turnOn(app)
    const session_id = await addChat(app)
    const { text } = await app.get((await share(app, session_id)).path)
    assert.not.match(text, PRIVATE)
    assert.not.match(text, /COMMAND|PRINTED/)
    assert.not.match(text, app.userHome)
    assert.match(text, 'Fix &lt;b&gt;the&lt;/b&gt; build')
    assert.match(text, 'Why does it fail?')
    assert.match(text, '<strong>~/project/a.ts</strong>')
    assert.match(
      text,
      '<li>Ran a command</li><li>Read a file (2 times)</li><li>Used a tool</li></ul>',
    )
    assert.match(text, 'Oct 9, 2025')
    assert.match(text, 'This answer was stopped or ended with an error.')

    const more = await app.get((await share(app, session_id, { tool_output: true })).path)
    assert.not.match(more.text, PRIVATE)
    assert.not.match(more.text, 'NOT-RUN')
    assert.match(more.text, 'npm test -- COMMAND')
    assert.match(more.text, '&lt;i&gt;PRINTED&lt;/i&gt; in ~/x')

    const preview = `/api/shares/preview?session_id=${session_id}`
    assert.not.match((await app.get(preview)).text, PRIVATE)
    assert.match((await app.get(`${preview}&tool_output=1`)).text, 'npm test -- COMMAND')
  },
)

shares(
  'a snapshot stays as it was, also after a restart; a link that is kept up to date follows the chat',
  async ({ app }) => {
    await turnOn(app)
    const session_id = await addChat(app, {
      title: 'Before',
      messages: [{ role: 'user', content: 'FIRST' }],
    })
    const snapshot = await share(app, session_id)
    const live = await share(app, session_id, { live: true, days: 90 })
    const id = app.state
    writeFileSync(
      join(id, 'sessions', `${session_id}.jsonl`),
      `${JSON.stringify({
        n: 1_000,
        t: 'message',
        at: 1_760_000_100,
        message: { id: 'm1000', role: 'assistant', content: 'SECOND' },
      })}\n`,
      { flag: 'a' },
    )
    await app.post('/api/session/rename', { session_id, title: 'After' })
    await app.restart()
    const before = await app.get(snapshot.path)
    assert.match(before.text, /<h1 dir="auto">Before<.*As it was on .*FIRST/s)
    assert.not.match(before.text, /SECOND|After/)
    const after = await app.get(live.path)
    assert.match(after.text, /<h1 dir="auto">After<.*Kept up to date.*FIRST.*SECOND/s)

    // What is taken back in the chat is no longer shown by its links either.
    await app.post('/api/session/clear', { session_id })
    await app.restart()
    assert.not.match((await app.get(snapshot.path)).text, 'FIRST')
  },
)

shares(
  'the token is in one reply and in no file or log line; the log names each link; revoking all leaves none',
  async ({ app }) => {
    await turnOn(app)
    const session_id = await addChat(app)
    const { token, id, path } = await share(app, session_id, { days: 1 })
    assert.match(token, /^awl_[\w-]{43}$/)
    await app.get(path)
    await app.request('POST', path)
    await app.get(`${path}/below`)
    await app.restart()
    assert.is((await app.get(path)).status, 200)
    const file = join(app.state, 'shares.json')
    assert.not.match(readFileSync(file, 'utf8'), token)
    assert.is(statSync(file).mode & 0o777, 0o600)
    const listed = await app.get('/api/shares')
    assert.not.match(listed.text, token)
    assert.not.match(listed.text, 'hash')
    const [entry] = listed.body.shares
    assert.is(entry.expires_at - entry.created_at, 86_400)
    assert.type(entry.opened_at, 'number')
    await share(app, session_id)
    assert.is((await app.post('/api/shares/revoke', { all: true })).body.revoked, 2)
    assert.equal((await app.get('/api/shares')).body.shares, [])
    await app.restart()
    const lines = app.lines.join('\n')
    assert.not.match(lines, token)
    for (const event of ['created, expires', 'opened from 127.0.0.1', 'revoked'])
      assert.match(lines, `share link ${id} of chat ${session_id} ${event}`)
  },
)

shares('a damaged file keeps links off and is not replaced (503)', async ({ app }) => {
  const file = join(app.state, 'shares.json')
  writeFileSync(file, '{"version":1,')
  await app.restart()
  assert.is((await turnOn(app)).status, 503)
  assert.is(readFileSync(file, 'utf8'), '{"version":1,')
})

shares.run()
