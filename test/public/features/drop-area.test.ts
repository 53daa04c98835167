/** Files dropped on a page with two chats side by side go to the one under the pointer. */
import '../../_jsx.ts'
import { parseHTML } from 'linkedom'
import { h, options, render } from 'preact'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { App } from '../../../public/app.ts'
import { AppContext } from '../../../public/features/shell/context.ts'

const { DropArea } = await import('../../../public/features/composer/drop-area.tsx')

const test = suite('composer: drop area')

/** Two drop areas on a page; returns who took what was dropped. */
const drop = (html: string, target: string, isHandled = false): [string[], boolean] => {
  const page = globalThis as { document?: unknown }
  const before = { document: page.document, frame: options.requestAnimationFrame }
  const { document, Event } = parseHTML(`${html}<i id="one"></i><i id="two"></i>`)
  const effects: (() => void)[] = []
  const taken: string[] = []
  page.document = document
  options.requestAnimationFrame = run => void effects.push(run)
  try {
    const names = ['one', 'two'].filter(name => document.getElementById(`composer-${name}`))
    for (const name of names) {
      const app = {
        shell: { layout: { composerId: `composer-${name}` } },
        composer: { attachments: { add: () => taken.push(name), addFolder: () => {} } },
      } as unknown as App
      render(
        h(AppContext.Provider, { value: app }, h(DropArea, {})),
        document.getElementById(name)!,
      )
    }
    for (const run of effects.splice(0)) run()
    const event = Object.assign(new Event('drop', { bubbles: true, cancelable: true }), {
      dataTransfer: { types: ['Files'], items: [], files: [] },
    })
    const element = document.querySelector(target)!
    if (isHandled) element.addEventListener('drop', shown => shown.preventDefault())
    element.dispatchEvent(event)
    return [taken, event.defaultPrevented]
  } finally {
    for (const name of ['one', 'two']) render(null, document.getElementById(name)!)
    page.document = before.document
    options.requestAnimationFrame = before.frame as typeof options.requestAnimationFrame
  }
}

const split = `
  <nav></nav>
  <div class="side"><p></p><textarea id="composer-one"></textarea></div>
  <div class="side side-second side-active"><b></b><textarea id="composer-two"></textarea></div>
  <aside class="panel"></aside>`

test('of two chats, the one under the pointer takes it; beside both, the active one', () => {
  assert.equal(drop(split, 'p'), [['one'], true])
  assert.equal(drop(split, 'b'), [['two'], true])
  assert.equal(drop(split, 'nav'), [['two'], true])
})

test('what the file tree has taken is not attached as well', () => {
  assert.equal(drop(split, '.panel', true), [[], true])
})

test('a single chat takes what is dropped anywhere', () => {
  const single = '<nav></nav><div><textarea id="composer-one"></textarea></div>'
  assert.equal(drop(single, 'nav'), [['one'], true])
})

test('a chat without a composer: the page is not left for the file', () => {
  const half =
    '<div class="side"><p></p></div><div class="side"><textarea id="composer-two"></textarea></div>'
  assert.equal(drop(half, 'p'), [[], true])
})

test.run()
