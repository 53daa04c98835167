/** Following the end of the transcript: which movements of the list are the reader's. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Row } from '../../../public/features/transcript/rows.ts'
import { ScrollController } from '../../../public/features/transcript/scroll-controller.ts'

const following = suite('transcript: following the end')

/** A list as the browser lays it out: its position is kept within what there is. */
const openList = () => {
  let top = 0
  const list = {
    scrollHeight: 2_000,
    clientHeight: 500,
    get scrollTop() {
      return top
    },
    set scrollTop(wanted: number) {
      top = Math.max(0, Math.min(wanted, list.scrollHeight - list.clientHeight))
    },
    getBoundingClientRect: () => ({ top: 0 }),
  }
  Object.assign(globalThis, { requestAnimationFrame: () => 1 })
  const scroll = new ScrollController({ render: () => undefined })
  scroll.scroller.current = list as unknown as HTMLDivElement
  scroll.beginRender(signal<readonly Row[]>([]), signal(true), () => undefined)
  scroll.endRender()
  return { list, scroll }
}

following('goes on when the plan below closes while more is written', () => {
  const { list, scroll } = openList()
  assert.is(list.scrollTop, 1_500)
  list.clientHeight = 560
  list.scrollTop = 1_500
  assert.is(list.scrollTop, 1_440)
  list.scrollHeight = 2_200
  scroll.onScroll()
  assert.is(scroll.leftAt.value, null)
  assert.is(list.scrollTop, 1_640)
})

following('ends when the reader scrolls up, and begins again at the end', () => {
  const { list, scroll } = openList()
  list.scrollTop = 1_300
  scroll.onScroll()
  assert.is(scroll.leftAt.value, '')
  list.scrollHeight = 2_200
  scroll.onScroll()
  assert.is(list.scrollTop, 1_300)
  list.scrollTop = 1_690
  scroll.onScroll()
  assert.is(scroll.leftAt.value, null)
})

following.run()
