/** Where toasts are, when they would cover what was pressed. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { clearanceOf } from '../../../public/features/frame/toasts.tsx'

const test = suite('page: toasts')

const toasts = { top: 54, bottom: 100, left: 1_000, right: 1_400 }
const box = (top: number, bottom: number, left = 1_200) => ({
  top,
  bottom,
  left,
  right: left + 100,
})

test('toasts move below a pressed control that they would cover, and stay where there is no place', () => {
  assert.is(clearanceOf(toasts, null, 800), 0)
  assert.is(clearanceOf(toasts, box(120, 150), 800), 0)
  assert.is(clearanceOf(toasts, box(60, 90, 200), 800), 0)
  assert.is(clearanceOf(toasts, box(60, 90), 800), 44)
  assert.is(clearanceOf(toasts, box(20, 780), 800), 0)
})

test.run()
