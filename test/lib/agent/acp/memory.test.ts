/** What an agent remembers of a session, and what it is told where it does not. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { using } from './_external.ts'

const test = suite('acp memory')

test(
  'an id that rotates is an alias',
  using('', {}, async at => {
    const { text } = await at.say('rotate')
    assert.is(text, 'Before. After.')
    const kept = at.saved.get('tester')
    assert.match(kept?.session_id ?? '', /-next$/)
    assert.is(kept?.aliases.length, 1)
    assert.match((await at.say('recall')).text, /rotate \| recall/)
    await at.restart()
    assert.match((await at.say('recall')).text, /rotate \| recall \| recall/)
  }),
)

for (const traits of ['', 'no-resume'])
  test(
    `after a restart of ours it goes on where it was${traits && ` (${traits})`}`,
    using(traits, {}, async at => {
      await at.say('hello one')
      await at.restart()
      const { text, warnings } = await at.say('recall')
      assert.is(text, 'I have heard: hello one | recall')
      assert.equal(warnings, [])
    }),
  )

for (const traits of ['no-load', 'forgets'])
  test(
    `an agent that forgot is told what was said (${traits})`,
    using('', {}, async at => {
      await at.say('hello one')
      await at.restart()
      at.place.traits = traits
      const { text, warnings } = await at.say('recall')
      assert.match(text, /^I have heard: .*User: hello one\n\nAssistant: Hello there\. \+ recall$/s)
      assert.match(warnings[0] ?? '', /does not have this conversation any more/)
    }),
  )

test(
  'what another model said meanwhile is told; an edited past begins anew',
  using('', {}, async at => {
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
  }),
)

test(
  'a copy is a fork where the agent can do that: it knows what was said',
  using('forks', {}, async at => {
    await at.say('hello one')
    const { text, warnings } = await at.say('recall', { request: { sessionKey: 'copy' } })
    assert.is(text, 'I have heard: hello one | recall')
    assert.equal(warnings, [])
    assert.match(at.saved.get('tester')?.session_id ?? '', /-fork$/)
  }),
)

test(
  'a copy of a session does not share the agent’s',
  using('', {}, async at => {
    await at.say('hello one')
    const first = at.saved.get('tester')?.session_id
    await at.say('recall', { request: { sessionKey: 'copy' } })
    assert.is.not(at.saved.get('tester')?.session_id, first)
  }),
)

test(
  'its models: one is chosen, one it has not is told of',
  using('', {}, async at => {
    assert.equal((await at.say('hello', { model: 'lab/large:free' })).warnings, [])
    assert.equal(at.agents().modelsOf('default', 'tester'), [
      { id: 'small', label: 'Small' },
      { id: 'lab/large:free', label: 'Large' },
    ])
    const { warnings } = await at.say('hello', { model: 'huge' })
    assert.match(warnings[0] ?? '', /does not offer the model huge/)
  }),
)

test.run()
