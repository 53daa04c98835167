/** Lazily loaded component, with a loading text and a Retry button on failure. */
import { type ComponentType, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { canReach } from '../api.ts'
import { Button } from './button.tsx'
import { loadLazyCss } from './lazy-css.ts'
import { t } from '../strings/t.ts'

type State<P> = { view: ComponentType<P> | 'failed' | null }

/** Browsers do not request a module again that could not be loaded, and that of an earlier version is gone. */
const reloadIfReachable = async (): Promise<void> => {
  if (await canReach(document.baseURI)) location.reload()
}

export const lazy = <P extends object>(
  load: () => Promise<ComponentType<P>>,
  /** Renders nothing while loading, or this. */
  quiet: boolean | ComponentType = false,
  /** False for components styled by the main style sheet. */
  styled = true,
): ComponentType<P> => {
  /** Loaded once, then rendered synchronously. */
  const kept: State<P> = { view: null }
  return props => {
    const [state, setState] = useState<State<P>>({ view: kept.view })
    const [attempt, setAttempt] = useState(0)
    useEffect(() => {
      // Another instance may have loaded it since this one was rendered.
      if (kept.view) {
        if (kept.view !== state.view) setState({ view: kept.view })
        return
      }
      Promise.all([load(), styled ? loadLazyCss() : null]).then(
        ([view]) => {
          kept.view = view
          setState({ view })
        },
        // Offline, or the server was updated: offer a retry.
        () => {
          setState({ view: 'failed' })
          if (attempt > 0) void reloadIfReachable()
        },
      )
    }, [attempt])
    const View = state.view
    if (View === null) {
      if (quiet) return quiet === true ? null : h(quiet, {})
      return (
        <div class="welcome">
          <p class="welcome-late">{t('app.loading')}</p>
        </div>
      )
    }
    if (View !== 'failed') return <View {...props} />
    return (
      <div class="welcome" role="alert">
        <p>{t('view.failed')}</p>
        <Button icon="refresh" onClick={() => setAttempt(attempt + 1)}>
          {t('list.retry')}
        </Button>
      </div>
    )
  }
}
