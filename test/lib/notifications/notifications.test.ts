/** Parts of notifications: what a text shows and offers, which tokens are valid, and what is sent again. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type MessageOptions, plainText, toMessage } from '../../../lib/notifications/message.ts'
import { type Fact, openOutbox } from '../../../lib/notifications/outbox.ts'
import type { Delivery } from '../../../lib/notifications/post.ts'
import { createSender } from '../../../lib/notifications/sender.ts'
import { openNotificationStore } from '../../../lib/notifications/store.ts'
import type { Approval } from '../../../lib/schema/question.ts'

const test = suite('parts of notifications')

const never = (text: string): void => assert.unreachable(text)

const inFolder = async (run: (folder: string) => unknown): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'notifications-'))
  try {
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const offersFor = (command: string): string[] => {
  const fact: Fact = { key: 'k', kind: 'approval', session_id: 's', profile: 'p', text: command }
  const settings = { content: true, allow_risky: false } as MessageOptions['settings']
  const question = { kind: 'approval', command, pattern_keys: [] as string[] } as Approval
  const others = { chat: 'Chat', redact: (text: string) => text, isRisky: () => false }
  return toMessage(fact, { settings, question, ...others }).offers.map(({ action }) => action)
}

test('names keep their underscores and stars; marks of Markdown are removed', () => {
  const cases = [
    ['Renamed `__init__.py` to file_name_new.py', 'Renamed __init__.py to file_name_new.py'],
    ['**Done:** *all* ~~two~~ __three__ tests pass.', 'Done: all two three tests pass.'],
    [
      '## Result\n- 2*3*4 = 24\n- see [the log](x.md), `*.ts`',
      'Result 2*3*4 = 24 see the log, *.ts',
    ],
    ['***Both*** "**quoted**" (_aside_)', 'Both "quoted" (aside)'],
  ] as const
  for (const [markdown, plain] of cases) assert.is(plainText(markdown), plain)
})

test('a command with invisible characters cannot be allowed: written out, its end may be cut off', () => {
  assert.equal(offersFor('deploy --dry-run'), ['allow', 'deny'])
  assert.equal(offersFor(`deploy ${'\u200b'.repeat(60)}; rm -r x`), ['deny'])
  assert.equal(offersFor('deploy \u202etxt.sh'), ['deny'])
})

test('a token is valid until it expires', () =>
  inFolder(folder => {
    const outbox = openOutbox(join(folder, 'outbox.json'), never)
    const given = { session_id: 's', question_id: 'q', question: 'approval' as const }
    const record = { ...given, answer: 'once', target: 't', by: 'x', expires_at: 1_000 }
    const [token = ''] = outbox.issue([record], 0)
    assert.is(outbox.find(token, 999)?.answer, 'once')
    assert.is(outbox.find(token, 1_000), undefined)
    assert.is(outbox.find(`${token}x`, 0), undefined)
  }))

test('what has arrived while the service stops is not sent again; what was cut off is', () =>
  inFolder(async folder => {
    const left = async (delivery: Delivery): Promise<number> => {
      const outbox = openOutbox(join(folder, `${delivery.how}.json`), never)
      const started = Promise.withResolvers<void>()
      const reply = Promise.withResolvers<Delivery>()
      const sender = createSender({
        outbox,
        now: () => 0,
        decide: () => 'send',
        deliver() {
          started.resolve()
          return reply.promise
        },
        onDelivery: () => undefined,
        firstDelayMs: 1,
        log: never,
      })
      const fact: Fact = { key: 'k', kind: 'finished', session_id: null, profile: 'p', text: '' }
      outbox.add(fact, ['t'], { at: 0, due: 0 })
      sender.start()
      const keepAlive = setInterval(() => undefined, 1_000)
      await started.promise
      clearInterval(keepAlive)
      const closed = sender.close()
      reply.resolve(delivery)
      await closed
      return outbox.items().length
    }
    assert.is(await left({ how: 'sent' }), 0)
    assert.is(await left({ how: 'later', problem: '', afterMs: null }), 1)
  }))

test('a new subscription takes the place of its former one, also when both are known', () =>
  inFolder(folder => {
    const store = openNotificationStore(join(folder, 'store.json'), { now: () => 0, warn: never })
    const add = (endpoint: string, replaces?: string) =>
      store.addDevice(
        { endpoint, keys: { p256dh: 'B'.repeat(87), auth: 'a'.repeat(22) } },
        { name: 'Phone', signIn: null, replaces },
      )
    add('https://push.example/old')
    add('https://push.example/new')
    const { id } = add('https://push.example/new', 'https://push.example/old')
    assert.equal(
      store.devices().map(each => each.id),
      [id],
    )
  }))

test.run()
