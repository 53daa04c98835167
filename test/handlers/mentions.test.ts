/** What `@` finds beside files, and how the model reads a chat that a message names. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from './_chat.ts'
import { requirePrefix } from './_prefix.ts'

const test = suite('mentions')

type Found = { kind: string; id: string; name: string }

test('finds chats of the profile by title and skills by name, and the model reads a named chat', async () => {
  await using chat = await startChat()
  const { app, provider } = chat
  const named = async (title: string, profile?: string): Promise<string> => {
    const { body } = await app.post('/api/session/new', profile ? { profile } : {})
    const { session_id } = body.session
    await app.post('/api/session/rename', { session_id, title })
    return session_id
  }
  for (const skill of ['deploy', 'Code Review']) {
    const dir = join(app.home, 'skills', skill)
    mkdirSync(dir, { recursive: true })
    writeFileSync(
      join(dir, 'SKILL.md'),
      `---\nname: ${skill}\ndescription: About it\n---\nDo it.\n`,
    )
  }
  mkdirSync(join(app.home, 'profiles', 'work'), { recursive: true })
  const retry = await named('Unify the retry logic')
  const secret = await named('Retry in another profile', 'work')
  const open = await named('Open')
  const find = async (q: string): Promise<Found[]> =>
    (await app.get(`/api/mentions?session_id=${open}&q=${encodeURIComponent(q)}`)).body.mentions
  assert.is((await app.get('/api/mentions?limit=0')).status, 400)
  assert.equal(
    (await find('')).map(({ name }) => name),
    ['Unify the retry logic', 'Code Review', 'deploy'],
  )
  assert.equal(
    (await find('rtry-lgc')).map(({ id }) => id),
    [retry],
  )
  assert.equal(
    (await find('cde-rv')).map(({ kind, id }) => [kind, id]),
    [['skill', 'Code Review']],
  )
  assert.equal(await find('zzz'), [])

  provider.push({ text: 'The jitter was missing.' })
  await chat.turn(retry, 'Why do the clients come back together?')
  const read = (id: string, more = {}) =>
    provider.push(
      { toolCalls: [{ name: 'session_search', arguments: { session_id: id, ...more } }] },
      { text: 'Seen.' },
    )
  const result = async (message: string) => {
    await chat.turn(open, message)
    const { messages } = provider.requests.at(-1)!.body
    return JSON.parse(String(messages.at(-1).content))
  }
  read(retry)
  const seen = await result(`As in [Unify the retry logic](chat:${retry})`)
  assert.equal(
    seen.results[0].messages.map(({ role, text }: { role: string; text: string }) => [role, text]),
    [
      ['user', 'Why do the clients come back together?'],
      ['assistant', 'The jitter was missing.'],
    ],
  )
  assert.is(seen.results[0].earlier, 0)
  read(retry, { query: 'jitter' })
  assert.match((await result('Where?')).results[0].matches[0].text, 'jitter')
  for (const [id, sentence] of [
    [secret, 'no conversation with this id'],
    ['../x', 'no conversation with this id'],
    [open, 'current conversation'],
  ] as const) {
    read(id)
    const refused = await result('And this?')
    assert.is(refused.success, false)
    assert.match(refused.error, sentence)
  }
  requirePrefix(provider.requests.slice(1))
})

test.run()
