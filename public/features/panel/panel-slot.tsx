/** The slot of the workspace panel: a side panel, or an overlay sheet on smaller screens. Loads its contents when first shown. */
import { Divider } from '../../parts/divider.tsx'
import { PANEL_MAX, PANEL_MIN } from './panel.ts'
import { t } from '../../strings/t.ts'
import { lazy } from '../../parts/lazy.tsx'
import { usePanel, useShell } from '../../contexts.ts'

const Contents = lazy(async () => (await import('./panel-view.tsx')).WorkspacePanelView)
const Sheet = lazy(async () => (await import('./panel-view.tsx')).Sheet, true)

export const PanelSlot = () => {
  const panel = usePanel()
  const { route } = useShell()
  if (!panel.isShown.value || route.current.value.view !== 'chat') return null
  if (panel.overlay.value) return <Sheet />
  const isCentered = panel.full.value
  return (
    <section
      class={isCentered ? 'panel panel-centered' : 'panel'}
      role={isCentered ? 'main' : 'complementary'}
      aria-label={t('panel.label')}
      style={{ width: isCentered ? '' : `${panel.width.value}px` }}
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
    </section>
  )
}
