/** Where the workspace panel stands: beside the conversation, or over it on a smaller page. Its contents load when first shown. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { PANEL_MAX, PANEL_MIN } from '../state/panel.ts'
import { t } from '../strings/t.ts'
import { useApp } from './context.ts'
import { lazy } from './lazy.tsx'

const STEP = 16

const PanelDivider = () => {
  const { panel } = useApp()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves has no element of its own
    <div
      class="divider divider-end"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={t('panel.resize')}
      aria-valuenow={panel.width.value}
      aria-valuemin={PANEL_MIN}
      aria-valuemax={PANEL_MAX}
      onPointerDown={event => {
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={event => {
        if (event.currentTarget.hasPointerCapture(event.pointerId))
          panel.resize(window.innerWidth - event.clientX)
      }}
      onDblClick={() => panel.resetWidth()}
      onKeyDown={event => {
        const steps: Record<string, number> = { ArrowLeft: STEP, ArrowRight: -STEP }
        const step = steps[event.key]
        if (step) panel.resize(panel.width.value + step)
        else if (event.key === 'Home') panel.resize(PANEL_MIN)
        else if (event.key === 'End') panel.resize(PANEL_MAX)
        else if (event.key === 'Enter') panel.hide()
        else return
        event.preventDefault()
      }}
    />
  )
}

const Contents = lazy(async () => (await import('./workspace/panel.tsx')).PanelView)

/** Over the page: takes the focus, gives it back, and closes with Escape or a press beside it. */
const Sheet = () => {
  const { panel } = useApp()
  const ref = useRef<HTMLElement>(null)
  useLayoutEffect(() => {
    const before = document.activeElement
    ref.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Escape and the close button do the same by keyboard */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape and the close button do the same by keyboard */}
      <div class="panel-scrim" onClick={() => panel.hide()} />
      <section
        ref={ref}
        class="panel panel-sheet"
        role="dialog"
        aria-modal="true"
        aria-label={t('panel.label')}
        tabIndex={-1}
        onKeyDown={event => {
          if (event.key !== 'Escape' || event.defaultPrevented) return
          event.stopPropagation()
          panel.hide()
        }}
      >
        <Contents />
      </section>
    </>
  )
}

export const PanelPlace = () => {
  const { panel, route } = useApp()
  if (!panel.shown.value || route.current.value.view !== 'chat') return null
  if (panel.overlay.value) return <Sheet />
  return (
    <aside class="panel" aria-label={t('panel.label')} style={{ width: `${panel.width.value}px` }}>
      <PanelDivider />
      <Contents />
    </aside>
  )
}
