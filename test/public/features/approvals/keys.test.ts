/** The approval card in a document: its buttons follow their request, and Enter allows only by a press that was meant for it. */
import '../../../_jsx.ts'
import { setImmediate } from 'node:timers/promises'
import { parseHTML } from 'linkedom'
import { h, options, render } from 'preact'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Approval } from '../../../../lib/schema/question.ts'
import { ApiError } from '../../../../public/api.ts'
import { answerWithToast } from '../../../../public/features/approvals/answer.ts'
import { createServerClock } from '../../../../public/parts/server-clock.ts'
import { createTestClock } from '../../../_clock.ts'
import { fakeApi } from '../../_page.ts'

const { ApprovalCard } = await import('../../../../public/features/approvals/approval-card.tsx')

const test = suite('keys and buttons of the approval card')

const RESPOND = 'POST /api/approval/respond'

class Observer {
  observe() {}
  disconnect() {}
}
/** Everything is on screen. */
class Screen extends Observer {
  readonly tell: (entries: readonly { isIntersecting: boolean }[]) => void
  constructor(tell: Screen['tell']) {
    super()
    this.tell = tell
  }
  override observe() {
    this.tell([{ isIntersecting: true }])
  }
}

let count = 0
/** A page with a composer and an approval. */
const open = async (answer: () => unknown) => {
  const {
    document,
    window,
    HTMLElement,
    HTMLTextAreaElement,
    HTMLInputElement,
    HTMLButtonElement,
  } = parseHTML('<textarea></textarea><div></div>')
  for (const name of ['scrollHeight', 'clientHeight', 'scrollTop'])
    Object.defineProperty(HTMLElement.prototype, name, { value: 0, configurable: true })
  const field = document.querySelector('textarea')!
  const page = new EventTarget()
  // Not in linkedom.
  const active: unknown = field
  Object.defineProperty(document, 'activeElement', { get: () => active })
  const query = document.querySelector.bind(document)
  document.querySelector = ((selector: string) =>
    selector.includes(':popover-open') ? null : query(selector)) as typeof query
  const fakes = {
    document,
    window,
    HTMLElement,
    HTMLTextAreaElement,
    HTMLInputElement,
    HTMLButtonElement,
    IntersectionObserver: Screen,
    ResizeObserver: Observer,
    MutationObserver: Observer,
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
  }
  const scope = globalThis as Record<string, unknown>
  const before = Object.keys(fakes).map(name => [name, scope[name]] as const)
  Object.assign(scope, fakes)
  const frame = options.requestAnimationFrame
  options.requestAnimationFrame = run => void setImmediate().then(run)
  const clock = createTestClock()
  const service = fakeApi({ [RESPOND]: answer })
  const approval: Approval = {
    kind: 'approval',
    approval_id: `k${++count}`,
    session_id: 's',
    command: 'make deploy',
    pattern_key: 'k',
    pattern_keys: ['k'],
    description: '',
    requested_at: 1,
  }
  const toasts = { show: () => 0, showError: () => undefined }
  const place = query('div')!
  render(
    h(ApprovalCard, {
      approval,
      keys: true,
      clock: createServerClock(clock),
      onAnswer: (choice, rule) =>
        void answerWithToast({ api: service.api, toasts }, approval, choice, rule),
    }),
    place,
  )
  const drawn = async () => {
    for (let turn = 0; turn < 6; turn++) await setImmediate()
  }
  await drawn()
  const dispatch = async (type: string, more: object) => {
    const event = Object.assign(new Event(type, { cancelable: true }), more)
    page.dispatchEvent(event)
    await drawn()
    return event.defaultPrevented
  }
  return {
    clock,
    calls: service.calls,
    service,
    field: field as unknown as { value: string },
    press: (key = 'Enter', more: object = {}) => dispatch('keydown', { key, ...more }),
    point: () => dispatch('pointerdown', {}),
    text: () => place.textContent ?? '',
    buttons: () => [...place.querySelectorAll('.ask-buttons button')],
    click: async (at: number) => {
      const button = place.querySelectorAll('.ask-buttons button')[at] as unknown as HTMLElement
      button.click()
      await drawn()
    },
    drawn,
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      render(null, place)
      await drawn()
      options.requestAnimationFrame = frame as typeof options.requestAnimationFrame
      for (const [name, value] of before) scope[name] = value
    },
  }
}

const never = () => new Promise(() => undefined)

test('Enter allows a second after the card appears, once', async () => {
  await using page = await open(never)
  await page.press()
  await page.clock.advance(999)
  await page.press()
  assert.is(page.calls.length, 0)
  await page.clock.advance(1)
  assert.ok(await page.press())
  await page.press()
  await page.press('Escape')
  assert.equal(
    page.calls.map(({ input }) => input.choice),
    ['once'],
  )
})

test('a second Enter after a message was sent, a held key, and one after a click elsewhere allow nothing', async () => {
  await using page = await open(never)
  await page.clock.advance(5_000)
  page.field.value = 'wait, not yet'
  assert.not.ok(await page.press(), 'it is the composer’s')
  page.field.value = ''
  await page.press()
  await page.clock.advance(999)
  await page.press()
  assert.is(page.calls.length, 0)
  await page.clock.advance(5_000)
  await page.press('Enter', { repeat: true })
  await page.press()
  assert.is(page.calls.length, 0)
  await page.clock.advance(5_000)
  await page.point()
  await page.press()
  assert.is(page.calls.length, 0)
  await page.clock.advance(1_000)
  await page.press()
  assert.is(page.calls.length, 1)
})

test('the buttons are there again when the request has failed, with its reason; a double click sends once', async () => {
  const reply = Promise.withResolvers<unknown>()
  await using page = await open(() => reply.promise)
  const disabled = () => page.buttons().map(button => button.hasAttribute('disabled'))
  await page.click(0)
  await page.click(0)
  assert.is(page.calls.length, 1)
  assert.equal(disabled(), [true, true, true, true])
  reply.reject(new ApiError(500, 'The disk is full.'))
  await page.drawn()
  assert.equal(disabled(), [false, false, false, false])
  assert.match(page.text(), 'The disk is full.')
  page.service.answers[RESPOND] = () => ({ accepted: false, answer: 'deny', reason: 'withdrawn' })
  await page.click(0)
  assert.is(page.calls.length, 2)
  assert.is(page.buttons().length, 0)
  assert.match(page.text(), 'No longer needed')
  assert.not.match(page.text(), 'The disk is full.')
})

test.run()
