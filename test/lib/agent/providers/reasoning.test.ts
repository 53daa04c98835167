/** Reasoning models on servers that reject conversations with missing, changed or foreign reasoning. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { delegate } from '../../../../lib/agent/tools/delegate.ts'
import type { LoopMessage, SteeringMessage, Tool } from '../../../../lib/agent/types.ts'
import type { Step } from '../../../_provider.ts'
import { type Body, echo } from './_matrix.ts'
import { converse, endpointOf, KINDS, serving, strict } from './_thinkers.ts'

const test = suite('reasoning is returned')

for (const kind of KINDS) {
  test(`${kind.name}: three steps, parallel calls, text between them, a steering message`, () => {
    const said = ['First thought. ', 'Second: 漢字 "quoted"\n', 'Third.']
    return serving(
      strict(
        kind,
        [
          kind.answer(said[0]!, '', [
            { id: 'a', say: '1' },
            { id: 'b', say: '2' },
          ]),
          kind.answer(said[1]!, 'I go on.', [{ id: 'c', say: '3' }]),
          kind.answer(said[2]!, '', [{ id: 'd', say: '4' }]),
          kind.answer('Last.', 'done', []),
        ],
        (thought, at) => thought === said[at],
      ),
      async server => {
        let asked = 0
        const steered: SteeringMessage = {
          key: 'k',
          text: 'and quickly',
          modelText: 'and quickly',
          attachments: [],
        }
        const { outcome, messages } = await converse(kind, server, {
          takeSteeringMessages: () => (++asked === 3 ? [steered] : []),
        })
        assert.is(outcome.failure?.message, undefined)
        assert.is(outcome.text, 'done')
        assert.is(server.requests.length, 4, 'nothing had to be asked twice')
        assert.is(messages[0]?.reasoning?.trim(), said[0]!.trim())
        assert.not.match(JSON.stringify(messages.map(({ content }) => content)), 'think')
      },
    )
  })

  if (kind.always)
    test(`${kind.name}: later turns, and turns another model began, recover from rejections`, () =>
      serving(
        strict(kind, [
          kind.answer('Now I think.', '', [{ id: 'z', say: 'z' }]),
          kind.answer('Again.', 'done', []),
        ]),
        async server => {
          const history: LoopMessage[] = [
            { role: 'user', content: 'go' },
            {
              role: 'assistant',
              content: '',
              tool_calls: [
                { id: 'o', type: 'function', function: { name: 'echo', arguments: '{}' } },
              ],
            },
            { role: 'tool', tool_call_id: 'o', name: 'echo', content: '{}' },
            { role: 'assistant', content: 'gone' },
            { role: 'user', content: 'more' },
          ]
          const { outcome } = await converse(kind, server, { history })
          assert.is(outcome.failure?.message, undefined)
          assert.is(outcome.text, 'done')
        },
      ))

  test(`${kind.name}: sends no reasoning to a fallback endpoint`, () =>
    serving(
      (() => {
        let round = 0
        return () =>
          ++round === 1
            ? kind.answer('A secret thought.', '', [{ id: 'a', say: '1' }])
            : { status: 402, body: { error: { message: 'no credit' } } }
      })(),
      first =>
        serving(
          () => kind.answer('Mine.', 'done', []),
          async second => {
            const { outcome } = await converse(kind, first, {
              recovery: {
                recover: async () => ({
                  endpoint: { ...endpointOf(kind, second.url), provider: 'other' },
                  kind: 'fallback',
                  message: 'x',
                }),
              },
            })
            assert.is(outcome.text, 'done')
            assert.match(JSON.stringify(first.requests[1]!.body), 'A secret thought')
            assert.not.match(JSON.stringify(second.requests[0]!.body), 'A secret thought')
          },
        ),
    ))

  test(`${kind.name}: a repeated step still has the reasoning of earlier steps`, () =>
    serving(
      (() => {
        const turns = strict(kind, [
          kind.answer('One.', '', [{ id: 'a', say: '1' }]),
          kind.answer('Two.', 'done', []),
        ])
        let round = 0
        return (body: Body) =>
          ++round === 2 ? { status: 529, body: { error: { message: 'Overloaded' } } } : turns(body)
      })(),
      async server => {
        assert.is((await converse(kind, server)).outcome.text, 'done')
      },
    ))

  test(`${kind.name}: a subagent's thoughts, too`, () =>
    serving(
      body => {
        const written = JSON.stringify(body)
        const isSub = written.includes('You are a subagent')
        const thoughts = kind.thoughts(body)
        if (thoughts.some(thought => typeof thought !== 'string'))
          return { status: 400, body: { error: { message: kind.complaint } } }
        if (!isSub)
          return thoughts.length === 0
            ? asDelegation(kind.answer('Somebody else.', '', [{ id: 'p', say: 'DELEGATE' }]))
            : kind.answer('Good.', 'all done', [])
        return thoughts.length === 0
          ? kind.answer('Sub one.', '', [{ id: 's', say: '1' }])
          : kind.answer('Sub two.', 'sub done', [])
      },
      async server => {
        const { outcome, messages } = await converse(kind, server, {
          tools: [echo, delegate as unknown as Tool],
          delegation: { depth: 0, maxDepth: 1, maxSteps: 5 },
        })
        assert.is(outcome.text, 'all done')
        assert.match(JSON.stringify(messages), 'sub done')
        assert.is(server.requests.length, 4)
      },
    ))
}

const asDelegation = (step: Step): Step => ({
  raw: String(step.raw)
    .replaceAll('"name":"echo"', '"name":"delegate_task"')
    .replaceAll('{\\"say\\":\\"DELEGATE\\"}', '{\\"goal\\":\\"look\\"}'),
})

test.run()
