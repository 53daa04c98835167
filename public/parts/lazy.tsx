/** A view whose code loads when it is first shown; until then a quiet word, and a way to try again when it cannot be had. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { loadLazyCss } from './lazy-css.ts'
import { t } from '../strings/t.ts'

type State<P> = { view: ComponentType<P> | 'failed' | null }

export const lazy = <P extends object>(
  load: () => Promise<ComponentType<P>>,
  /** Nothing stands in its place while it loads. */
  quiet = false,
  /** False for parts of the first view, whose styles are there already. */
  styled = true,
): ComponentType<P> => {
  /** Loaded once, drawn at once from then on. */
  const kept: State<P> = { view: null }
  return props => {
    const [state, setState] = useState<State<P>>({ view: kept.view })
    const [attempt, setAttempt] = useState(0)
    useEffect(() => {
      if (kept.view) return
      Promise.all([load(), styled ? loadLazyCss() : null]).then(
        ([view]) => {
          kept.view = view
          setState({ view })
        },
        // Offline, or another version of the service by now: said, with a way to try again.
        () => setState({ view: 'failed' }),
      )
    }, [attempt])
    const View = state.view
    if (View === null) {
      if (quiet) return null
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
