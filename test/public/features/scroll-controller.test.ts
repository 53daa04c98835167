/** Following the end of the transcript: which movements of the list are the reader's. */
import { signal } from '@preact/signals'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { TranscriptRow } from '../../../public/features/transcript/rows.ts'
import { ScrollController } from '../../../public/features/transcript/scroll-controller.ts'

const following = suite('transcript: following the end')

const { Element, window, requestAnimationFrame } = globalThis
following.after.each(
  () => void Object.assign(globalThis, { Element, window, requestAnimationFrame }),
)

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
  scroll.beginRender(signal<readonly TranscriptRow[]>([]), signal(true), () => undefined)
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

/** A column that is as high as what is in it, and at least as high as its style says. */
const columnOf = (scroll: ScrollController) => {
  const column = {
    content: 400,
    style: { minBlockSize: '' },
    querySelectorAll: () => [],
    querySelector: () => null,
    get offsetHeight() {
      return Math.max(column.content, Number.parseInt(column.style.minBlockSize, 10) || 0)
    },
  }
  scroll.column.current = column as unknown as HTMLDivElement
  return column
}

following('what ends while an answer is written leaves its place to what follows', () => {
  const { scroll } = openList()
  const column = columnOf(scroll)
  const heightAfter = (content: number, isRunning = true) => {
    column.content = content
    scroll.beginRender(signal<readonly TranscriptRow[]>([]), signal(isRunning), () => undefined)
    scroll.endRender()
    return column.offsetHeight
  }
  assert.is(heightAfter(400), 400)
  // The end of the output of a command, or of a file that is written.
  assert.is(heightAfter(520), 520)
  assert.is(heightAfter(400), 520)
  assert.is(heightAfter(450), 520)
  assert.is(heightAfter(600), 600)
  // Its end takes nothing away, either.
  assert.is(heightAfter(560, false), 600)
})

class Button {
  readonly row = { offsetHeight: 100, isConnected: true }
  closest(selector: string) {
    return selector === '.tx-row' ? this.row : this
  }
  matches = () => true
}

/** Opens a card at the end; the returned function lets everything happen that a frame or a timer was to do. */
const openCard = (scroll: ScrollController) => {
  const due = new Map<number, () => void>()
  let last = 0
  const later = (run: () => void) => {
    due.set(++last, run)
    return last
  }
  const runDue = () => {
    for (const [id, run] of [...due]) {
      due.delete(id)
      run()
    }
  }
  const page = { setTimeout: later, clearTimeout: (id: number) => due.delete(id) }
  Object.assign(globalThis, { Element: Button, requestAnimationFrame: later, window: page })
  const target = new Button()
  scroll.onClick({ target } as unknown as Event)
  runDue()
  runDue()
  return (ended: Partial<Button['row']> = {}) => {
    Object.assign(target.row, ended)
    runDue()
  }
}

following(
  'is not resumed by a card that was opened at the end when the reader is elsewhere by then',
  () => {
    for (const leave of [
      ({ list, scroll }: ReturnType<typeof openList>) => {
        list.scrollTop = 300
        scroll.onScroll()
      },
      ({ scroll }: ReturnType<typeof openList>) => {
        scroll.beginRender(
          signal([{ key: 'a' }] as unknown as readonly TranscriptRow[]),
          signal(false),
          () => undefined,
        )
        scroll.jumpTo({ row: 'a', heading: null, focus: false })
      },
    ]) {
      const opened = openList()
      const letTimePass = openCard(opened.scroll)
      assert.is(opened.scroll.leftAt.value, null)
      leave(opened)
      assert.is.not(opened.scroll.leftAt.value, null)
      // The list no longer draws the row of the card.
      letTimePass({ isConnected: false })
      assert.is.not(opened.scroll.leftAt.value, null)
    }
  },
)

following(
  'continues below a card that ended where it was opened, and not where one stays open',
  () => {
    const answered = openList()
    openCard(answered.scroll)({ isConnected: false })
    assert.is(answered.scroll.leftAt.value, null)
    const open = openList()
    open.list.scrollHeight = 2_300
    openCard(open.scroll)({ offsetHeight: 400 })
    assert.is.not(open.scroll.leftAt.value, null)
  },
)

following.run()
