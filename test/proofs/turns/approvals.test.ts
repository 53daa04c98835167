/**
 * Proof *Approvals* of the bar: 20 wait at once, one of them from a subagent at depth 3; two clients answer each of them in any
 * order, one answer counts, the other gets the winning one, every command runs or not accordingly, and the journal agrees.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import { createProvider, type Step } from '../../_provider.ts'

const COUNT = 20
const proof = suite('parallel approvals')

const createDice = (seed: number) => {
  let state = seed
  return (sides: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state % sides
  }
}

const shuffled = <T>(list: readonly T[], dice: (sides: number) => number): T[] => {
  const rest = [...list]
  return list.map(() => rest.splice(dice(rest.length), 1)[0]!)
}

const call = (name: string, args: Record<string, unknown>): Step => ({
  toolCalls: [{ id: 'c1', name, arguments: args }],
})
const deeper = call('delegate_task', { goal: 'go deeper' })

type Question = { approval_id: string; session_id: string; description: string; cwd: string }

proof(
  '20 approvals at once, one from depth 3, answered from two devices in any order',
  async () => {
    const dice = createDice(20261121)
    const provider = await createProvider(deeper, deeper, deeper)
    const app = await startApp()
    try {
      writeFileSync(
        join(app.home, 'config.yaml'),
        `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\ndelegation:\n  max_depth: 3\ncheckpoints:\n  enabled: false\n`,
      )
      const places = new Map<string, string>()
      const start = async (index: number): Promise<string> => {
        const workspace = join(app.userHome, `place-${index}`)
        mkdirSync(join(workspace, 'victim'), { recursive: true })
        const { body } = await app.post('/api/session/new', { workspace })
        const { session_id } = body.session
        await app.post('/api/session/rename', { session_id, title: `Number ${index}` })
        places.set(session_id, workspace)
        provider.push(call('terminal', { command: 'rm -rf victim' }))
        const started = await app.post('/api/chat/start', { session_id, message: 'go' })
        assert.is(started.status, 200, JSON.stringify(started.body))
        return session_id
      }
      const waiting = async (count: number): Promise<Question[]> => {
        for await (const _ of app.events('/api/events')) {
          const { questions } = (await app.get('/api/inbox')).body
          if (questions.length >= count) return questions
        }
        throw new Error('The stream ended.')
      }

      const root = await start(0)
      await waiting(1)
      for (let index = 1; index < COUNT; index++) await start(index)
      const questions = await waiting(COUNT)
      assert.is(questions.length, COUNT)
      const [deep] = questions.filter(({ description }) => description.includes('A subagent asks'))
      // Asked at depth 3, shown at the session the person sees.
      assert.is(deep?.session_id, root)
      assert.is(provider.requests.length, COUNT + 3)
      const { session } = (await app.get(`/api/session?session_id=${root}`)).body
      assert.is(session.questions[0].approval_id, deep?.approval_id)
      assert.equal(
        session.live.subagents.map(({ parent_tid }: { parent_tid: string }) => parent_tid),
        ['c1', 'c1.0.c1', 'c1.0.c1.0.c1'],
      )

      const answers = questions.flatMap(question => [
        { question, choice: dice(2) === 0 ? 'once' : 'deny' },
        { question, choice: dice(2) === 0 ? 'once' : 'deny' },
      ])
      provider.push(...Array.from({ length: COUNT + 3 }, () => ({ text: 'Done.' })))
      const replies = await Promise.all(
        shuffled(answers, dice).map(async ({ question, choice }) => {
          const { approval_id, session_id } = question
          const { body } = await app.post('/api/approval/respond', {
            session_id,
            approval_id,
            choice,
          })
          return { id: approval_id, choice, ...body } as {
            id: string
            choice: string
            accepted: boolean
            answer: string
          }
        }),
      )
      const won = new Map(
        replies.filter(({ accepted }) => accepted).map(one => [one.id, one.choice]),
      )
      assert.is(won.size, COUNT)
      for (const { id, accepted, answer } of replies) {
        if (!accepted) assert.is(answer, won.get(id), 'the later answer gets the winning one')
      }
      for await (const _ of app.events('/api/events')) {
        const { sessions } = (await app.get('/api/sessions')).body
        if (sessions.every((row: { is_streaming: boolean }) => !row.is_streaming)) break
      }
      for (const { approval_id, session_id } of questions) {
        const isThere = existsSync(join(places.get(session_id)!, 'victim'))
        assert.is(isThere, won.get(approval_id) === 'deny', session_id)
        const journal = readFileSync(join(app.state, 'sessions', `${session_id}.jsonl`), 'utf8')
        const lines = journal.split('\n').filter(line => line.includes(approval_id))
        assert.equal(
          lines.map(line => (JSON.parse(line) as { t: string }).t),
          ['asked', 'answered'],
        )
      }
      assert.equal((await app.get('/api/inbox')).body.questions, [])
    } finally {
      await app.close()
      await provider.close()
    }
  },
)

proof.run()
