/** The slot of the workspace panel: a side panel, or an overlay sheet on smaller screens. Loads its contents when first shown. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Divider } from '../../parts/divider.tsx'
import { PANEL_MAX, PANEL_MIN } from './panel.ts'
import { t } from '../../strings/t.ts'
import { lazy } from '../../parts/lazy.tsx'
import { usePanel, useShell } from '../../contexts.ts'

const Contents = lazy(async () => (await import('./panel-view.tsx')).WorkspacePanelView)

/** A modal sheet: takes the focus, restores it, and closes on Escape or an outside click. */
const Sheet = () => {
  const panel = usePanel()
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
        class={panel.full.value ? 'panel panel-sheet panel-whole' : 'panel panel-sheet'}
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

export const PanelSlot = () => {
  const panel = usePanel()
  const { route } = useShell()
  if (!panel.shown.value || route.current.value.view !== 'chat') return null
  if (panel.overlay.value) return <Sheet />
  const isCentered = panel.full.value
  return (
    <aside
      class="panel"
      aria-label={t('panel.label')}
      style={{ width: isCentered ? '' : `${panel.width.value}px` }}
      onKeyDown={event => {
        if (event.key !== 'Escape' || event.defaultPrevented || !isCentered) return
        event.preventDefault()
        panel.full.value = false
      }}
    >
      {!isCentered && (
        <Divider
          edge="start"
          label={t('panel.resize')}
          width={panel.width.value}
          min={PANEL_MIN}
          max={PANEL_MAX}
          onResize={panel.resize}
          onReset={panel.resetWidth}
          onCollapse={panel.hide}
        />
      )}
      <Contents />
    </aside>
  )
}
