/** Parts of notifications: what a text shows and offers, which tokens are valid, and what is sent again. */
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import { LANGUAGES, type Language } from '../../../lib/base/languages.ts'
import { type MessageOptions, plainText, toMessage } from '../../../lib/notifications/message.ts'
import { type Fact, Outbox } from '../../../lib/notifications/outbox.ts'
import type { Delivery } from '../../../lib/notifications/post.ts'
import { Sender } from '../../../lib/notifications/sender.ts'
import { NotificationStore } from '../../../lib/notifications/store.ts'
import { en, type Plural } from '../../../lib/notifications/texts/en.ts'
import { TEXTS, budgetText, translatorFor } from '../../../lib/notifications/texts/translate.ts'
import type { Approval } from '../../../lib/schema/question.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('parts of notifications')

const never = (text: string): void => assert.unreachable(text)

const inFolder = async (run: (folder: string) => unknown): Promise<void> => {
  const folder = tempDir('notifications')
  await run(folder)
}

const offersFor = (command: string, language: Language = 'en'): string[] => {
  const fact: Fact = { key: 'k', kind: 'approval', session_id: 's', profile: 'p', text: command }
  const settings = { content: true, allow_risky: false } as MessageOptions['settings']
  const question = { kind: 'approval', command, pattern_keys: [] as string[] } as Approval
  const t = translatorFor(language)
  const others = { t, chat: 'Chat', isRisky: () => false }
  return toMessage(fact, { settings, question, ...others }).offers.map(({ action }) => action)
}

test('every language has each placeholder and plural form', () => {
  const placeholders = (text: string) => new Set(text.match(/\{\w+\}/g))
  for (const language of Object.keys(LANGUAGES) as Language[]) {
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions()
    for (const [key, english] of Object.entries(en)) {
      const text: string | Plural = TEXTS[language][key as keyof typeof en]
      if (typeof english === 'string') {
        assert.equal(placeholders(text as string), placeholders(english), `${language} ${key}`)
        continue
      }
      const forms = text as Plural
      if (language !== 'en' || key !== 'missed')
        assert.equal(
          pluralCategories.filter(category => !forms[category]),
          [],
          `${language} ${key}`,
        )
      assert.match(forms.other, '{count}')
    }
  }
})

test('numbers, amounts, and plural forms are those of the language', () => {
  const tokens = (count: number) => ({ code: 'amount.tokens', values: { count } })
  const usd = (amount: string) => ({ code: 'amount.usd', values: { amount } })
  const chat = { code: 'budget.session', values: { used: tokens(1_200), limit: tokens(1_000) } }
  const day = { code: 'budget.day', values: { used: usd('2.50'), limit: usd('2.00') } }
  const inRussian = translatorFor('ru')
  assert.is(
    budgetText(chat, inRussian),
    'Бюджет на этот чат исчерпан: 1\u00a0200 токенов из 1\u00a0000 токенов.',
  )
  assert.is(
    budgetText(day, translatorFor('de')),
    'Das Budget für heute ist aufgebraucht: 2,50\u00a0$ von 2,00\u00a0$.',
  )
  assert.is(
    budgetText(day, translatorFor('en')),
    'The budget for today is used up: $2.50 of $2.00.',
  )
  assert.is(budgetText(undefined, inRussian), undefined)
  assert.match(inRussian('missed', { count: 3 }), '3 раза')
})

test('a command in a sentence from right to left keeps its direction, and fewer of its characters are shown in a longer one', () => {
  assert.is(translatorFor('ar')('approval', { text: 'rm x' }), 'بحاجة إلى موافقة: \u2068rm x\u2069')
  const command = `deploy ${'x'.repeat(240 - 'Needs approval: deploy '.length)}`
  assert.equal(offersFor(command), ['allow', 'deny'])
  assert.equal(offersFor(command, 'ru'), ['deny'])
})

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

test('the first due time of what is queued, also after a restart', () =>
  inFolder(folder => {
    const path = join(folder, 'outbox.json')
    const outbox = new Outbox(path, never)
    assert.is(outbox.nextDue(), null)
    const fact: Fact = { key: 'k1', kind: 'question', session_id: 's', profile: 'p', text: 't' }
    outbox.add(fact, ['phone'], { at: 1, due: 9_000 })
    outbox.add({ ...fact, key: 'k2' }, ['phone'], { at: 1, due: 7_000 })
    assert.is(new Outbox(path, never).nextDue(), 7_000)
    outbox.remove(({ due }) => due === 7_000)
    assert.is(outbox.nextDue(), 9_000)
  }))

test('tokens of an open question outlast those of settled ones and of attempts that failed', () =>
  inFolder(folder => {
    const outbox = new Outbox(join(folder, 'outbox.json'), never)
    const given = { session_id: 's', question: 'approval' as const, answer: 'once', by: 'x' }
    const issue = (question_id: string, target: string) =>
      outbox.issue(
        [{ ...given, question_id, target, expires_at: 1_000 }],
        0,
        id => id === 'open',
      )[0]!
    const first = issue('open', 'phone')
    for (let i = 0; i < 400; i += 1) issue(`settled ${i}`, 'phone')
    assert.ok(outbox.find(first, 0))
    const attempts = Array.from({ length: 400 }, () => issue('open', 'webhook'))
    assert.ok(outbox.find(first, 0))
    // The attempt before the last may have arrived although its reply was lost.
    assert.equal(
      attempts.slice(-3).map(token => outbox.find(token, 0) !== undefined),
      [false, true, true],
    )
  }))

test('a token is valid until it expires', () =>
  inFolder(folder => {
    const outbox = new Outbox(join(folder, 'outbox.json'), never)
    const given = { session_id: 's', question_id: 'q', question: 'approval' as const }
    const record = { ...given, answer: 'once', target: 't', by: 'x', expires_at: 1_000 }
    const [token = ''] = outbox.issue([record], 0)
    assert.is(outbox.find(token, 999)?.answer, 'once')
    assert.is(outbox.find(token, 1_000), undefined)
    assert.is(outbox.find(`${token}x`, 0), undefined)
  }))

test('a later message of a chat waits for one that failed; news and an answer of the receiver end its delay', async () => {
  const clock = createTestClock(0)
  const sent: string[] = []
  const replies: Delivery[] = []
  await inFolder(async folder => {
    const outbox = new Outbox(join(folder, 'outbox.json'), never)
    const sender = new Sender({
      outbox,
      clock,
      decide: () => 'send',
      async deliver({ fact }) {
        sent.push(fact.key)
        return replies.shift() ?? { how: 'sent' }
      },
      onDelivery: () => undefined,
      firstDelayMs: 5_000,
      log: never,
    })
    const add = (key: string, session_id: string) => {
      const fact: Fact = { key, kind: 'finished', session_id, profile: 'p', text: '' }
      outbox.add(fact, ['t'], { at: clock.now(), due: clock.now() })
      sender.wake(['t'])
      return clock.advance(0)
    }
    const busy = { problem: '', code: 'rate_limited' as const }
    replies.push({ how: 'later', ...busy, afterMs: null })
    sender.start()
    await add('first', 'a')
    replies.push({ how: 'later', ...busy, afterMs: 60_000 })
    await add('second', 'a')
    assert.equal(sent, ['first', 'first'])
    // Retry-After holds whatever is sent to this receiver.
    await add('other', 'b')
    await clock.advance(59_999)
    assert.is(sent.length, 2)
    await clock.advance(1)
    await add('third', 'a')
    assert.equal(sent.slice(2).toSorted(), ['first', 'other', 'second', 'third'])
    assert.equal(
      sent.slice(2).filter(key => key !== 'other'),
      ['first', 'second', 'third'],
    )
    await sender.close()
  })
})

test('what has arrived while the service stops is not sent again; what was cut off is', () =>
  inFolder(async folder => {
    const left = async (delivery: Delivery): Promise<number> => {
      const outbox = new Outbox(join(folder, `${delivery.how}.json`), never)
      const clock = createTestClock(0)
      const reply = Promise.withResolvers<Delivery>()
      const sender = new Sender({
        outbox,
        clock,
        decide: () => 'send',
        deliver: () => reply.promise,
        onDelivery: () => undefined,
        firstDelayMs: 1,
        log: never,
      })
      const fact: Fact = { key: 'k', kind: 'finished', session_id: null, profile: 'p', text: '' }
      outbox.add(fact, ['t'], { at: 0, due: 0 })
      sender.start()
      await clock.advance(0)
      const closed = sender.close()
      reply.resolve(delivery)
      await closed
      return outbox.items().length
    }
    assert.is(await left({ how: 'sent' }), 0)
    assert.is(await left({ how: 'later', problem: '', code: 'unreachable', afterMs: null }), 1)
  }))

test('a new subscription takes the place of its former one, also when both are known', () =>
  inFolder(folder => {
    const store = new NotificationStore(join(folder, 'store.json'), { clock: createTestClock() })
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
