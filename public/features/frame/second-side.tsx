/** The chat beside the first one; in a window too narrow for both, tabs that switch between them. */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Page } from '../../app.ts'
import type { Pane } from '../../pane.ts'
import { t } from '../split/strings.ts'
import { PaneView } from './frame.tsx'
import { openSecond } from './second-pane.ts'

const nameOf = (page: Page, { openChat }: Pane): string => {
  const id = openChat.value.sessionId.value
  return id ? page.sessions.titleOf(id) : t('chat.new')
}

const Tabs = ({ page, second }: { page: Page; second: Pane }) => {
  const { isBesideChosen } = page.shell.route
  const tabs = useRef<HTMLDivElement>(null)
  const choose = (isBeside: boolean) => {
    isBesideChosen.value = isBeside
  }
  return (
    <div ref={tabs} class="side-tabs" role="tablist" aria-label={t('split.sides')}>
      {[page.first, second].map((pane, at) => {
        const isOn = isBesideChosen.value === (at === 1)
        return (
          <button
            key={at}
            type="button"
            role="tab"
            aria-selected={isOn}
            tabIndex={isOn ? 0 : -1}
            onClick={() => choose(at === 1)}
            onKeyDown={event => {
              if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
              event.preventDefault()
              choose(at === 0)
              tabs.current?.querySelectorAll<HTMLElement>('[role="tab"]')[1 - at]?.focus()
            }}
          >
            {nameOf(page, pane)}
          </button>
        )
      })}
    </div>
  )
}

/** The side that was clicked or has the focus is the active one. */
const useActiveSide = (page: Page) => {
  const { isBesideChosen } = page.shell.route
  useEffect(() => {
    const notice = ({ target }: Event) => {
      const side = (target as Element | null)?.closest?.('.side')
      if (side) isBesideChosen.value = side.classList.contains('side-second')
    }
    document.addEventListener('focusin', notice)
    document.addEventListener('pointerdown', notice, true)
    return () => {
      document.removeEventListener('focusin', notice)
      document.removeEventListener('pointerdown', notice, true)
    }
  }, [])
}

export const SecondSide = ({ app: page }: { app: Page }) => {
  const second = useMemo(() => openSecond(page), [])
  useActiveSide(page)
  const isActive = page.shell.route.besideActive.value
  return (
    <>
      <section
        class={`main side side-second${isActive ? ' side-active' : ''}`}
        aria-label={nameOf(page, second)}
      >
        <PaneView pane={second} />
      </section>
      {page.shell.layout.tight.value && <Tabs page={page} second={second} />}
    </>
  )
}
