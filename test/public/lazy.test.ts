/** Lazily loaded views: one that was loaded between the first rendering of an instance and its effect. */
import { setImmediate } from 'node:timers/promises'
import { parseHTML } from 'linkedom'
import { type ComponentType, h, options, render } from 'preact'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { lazy } from '../../public/parts/lazy.tsx'

const test = suite('lazy')

test('an instance whose effect runs after another one has loaded the view shows it', async () => {
  const page = globalThis as { document?: unknown }
  const before = { document: page.document, frame: options.requestAnimationFrame }
  const { document } = parseHTML('<p></p><p></p>')
  const effects: (() => void)[] = []
  page.document = document
  options.requestAnimationFrame = run => void effects.push(run)
  const runEffects = () => {
    for (const run of effects.splice(0)) run()
  }
  try {
    const loading = Promise.withResolvers<ComponentType<object>>()
    const View = lazy(() => loading.promise, true, false)
    const [first, second] = document.querySelectorAll('p')
    assert.ok(first && second)
    render(h(View, {}), first)
    runEffects()
    render(h(View, {}), second)
    loading.resolve(() => h('b', {}, 'shown'))
    await setImmediate()
    runEffects()
    await setImmediate()
    assert.equal([first.textContent, second.textContent], ['shown', 'shown'])
  } finally {
    page.document = before.document
    options.requestAnimationFrame = before.frame as typeof options.requestAnimationFrame
  }
})

test.run()
