/** Sessions of an external agent: resumed, forked, or restored by sending the missed messages. */
import * as assert from 'uvu/assert'
import { agentSuite, type Outside } from '../../lib/agent/acp/_external.ts'

const test = agentSuite('acp sessions')

test('a rotated session id is an alias', async at => {
  const { text } = await at.say('rotate')
  assert.is(text, 'Before. After.')
  const kept = at.saved.get('tester')
  assert.match(kept?.session_id ?? '', /-next$/)
  assert.match((await at.say('recall')).text, /rotate \| recall/)
  await at.restart()
  assert.match((await at.say('recall')).text, /rotate \| recall \| recall/)
})

for (const traits of ['', 'no-resume'])
  test(`continues after a restart of the service${traits && ` (${traits})`}`, async at => {
    at.place.traits = traits
    await at.say('hello one')
    await at.restart()
    const { text, warnings } = await at.say('recall')
    assert.is(text, 'I have heard: hello one | recall')
    assert.equal(warnings, [])
  })

for (const traits of ['no-load', 'forgets'])
  test(`sends the conversation to an agent that lost its session (${traits})`, async at => {
    await at.say('hello one')
    await at.restart()
    at.place.traits = traits
    const { text, warnings } = await at.say('recall')
    assert.match(text, /^I have heard: .*User: hello one\n\nAssistant: Hello there\. \+ recall$/s)
    assert.match(warnings[0] ?? '', /no longer has this chat/)
  })

test('sends messages of other models; an edited history starts a new session', async at => {
  await at.say('hello one')
  at.history.push({ role: 'user', content: 'between' }, { role: 'assistant', content: 'us' })
  const { text } = await at.say('recall')
  assert.match(text, /hello one \| .*User: between\n\nAssistant: us \+ recall$/s)
  at.history.splice(
    0,
    at.history.length,
    { role: 'user', content: 'edited' },
    { role: 'assistant', content: 'ok' },
  )
  const edited = await at.say('recall')
  assert.match(edited.text, /^I have heard: This conversation.*User: edited.* \+ recall$/s)
})

test('copying a session forks the agent’s session where supported, with its history', async at => {
  at.place.traits = 'forks'
  await at.say('hello one')
  const { text, warnings } = await at.say('recall', { request: { sessionKey: 'copy' } })
  assert.is(text, 'I have heard: hello one | recall')
  assert.equal(warnings, [])
  assert.match(at.saved.get('tester')?.session_id ?? '', /-fork$/)
})

test('a copied session does not share the agent’s session', async at => {
  await at.say('hello one')
  const first = at.saved.get('tester')?.session_id
  await at.say('recall', { request: { sessionKey: 'copy' } })
  assert.is.not(at.saved.get('tester')?.session_id, first)
})

/** Stops the turn as soon as the agent has said something; a silent one after it has got the message. */
const stopped = (at: Outside, words: string) => {
  const abort = new AbortController()
  return at.say(words, {
    signal: abort.signal,
    react: event => {
      if (event.type === 'token') abort.abort()
    },
  })
}

for (const between of ['nothing', 'a restart of ours', 'a kill'] as const)
  test(`continues its session after a stop, with this in between: ${between}`, async at => {
    await at.say('hello one')
    await stopped(at, 'wait here')
    if (between === 'a restart of ours') await at.restart()
    if (between === 'a kill') assert.is((await at.say('die')).outcome.status, 'failed')
    const { text, warnings } = await at.say('recall')
    const killed = between === 'a kill' ? 'die | ' : ''
    assert.is(text, `I have heard: hello one | wait here | ${killed}recall`)
    assert.equal(warnings, [])
  })

for (const traits of ['', 'resumes-only'])
  test(`sends an undelivered message with the next one (${traits || 'loads'})`, async at => {
    at.place.traits = traits
    await at.say('hello one')
    at.place.traits = `${traits} forgets-last`
    await at.restart()
    assert.is((await at.say('die')).outcome.status, 'failed')
    const { text, warnings } = await at.say('recall')
    assert.match(text, /hello one \| .*User: die \+ recall$/s)
    assert.equal(warnings, [])
  })

test('a stopped or failed message may be sent again: its session is kept', async at => {
  await at.say('hello one')
  const session = at.saved.get('tester')?.session_id
  await stopped(at, 'wait here')
  at.history.splice(2)
  await stopped(at, 'wait here')
  const before = at.history.length
  await at.say('die')
  at.history.splice(before)
  const { warnings } = await at.say('die')
  assert.equal(warnings, [])
  assert.is(at.saved.get('tester')?.session_id, session)
})

test('forgets a stopped message that was edited away', async at => {
  await at.say('hello one')
  await stopped(at, 'wait here')
  at.history.splice(2)
  assert.not.match((await at.say('recall')).text, /wait here/)
})

test('sends a command alone, and missed messages with the next message', async at => {
  await at.say('hello one')
  at.history.push({ role: 'user', content: 'between' }, { role: 'assistant', content: 'us' })
  await at.say('/plan a trip')
  assert.match(
    (await at.say('recall')).text,
    /hello one \| \/plan a trip \| .*between.* \+ recall$/s,
  )
  at.history.push({ role: 'user', content: 'between' }, { role: 'assistant', content: 'us' })
  assert.match((await at.say('/etc/hosts is a file')).text, /^Hello/)
  assert.match((await at.say('recall')).text, /between[^|]* \+ \/etc\/hosts is a file \| recall$/s)
})

test('selects one of its models, and reports one it does not have', async at => {
  assert.equal((await at.say('hello', { model: 'lab/large:free' })).warnings, [])
  assert.equal(at.agents().modelsOf('default', 'tester'), [
    { id: 'small', label: 'Small' },
    { id: 'lab/large:free', label: 'Large' },
  ])
  const { warnings } = await at.say('hello', { model: 'huge' })
  assert.match(warnings[0] ?? '', /does not offer the model huge/)
})

test.run()
