/** Lazily loaded component, with a loading text and a Retry button on failure. */
import { useSignal } from '@preact/signals'
import { type ComponentChildren, type ComponentType, Fragment, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { canReach } from '../api.ts'
import { Button } from './button.tsx'
import { Loading } from './loading.tsx'
import { loadLazyCss } from './lazy-css.ts'
import { t } from '../strings/t.ts'

type State<P> = { view: ComponentType<P> | 'failed' | null }

/** Browsers do not request a module again that could not be loaded, and that of an earlier version is gone. */
const reloadIfReachable = async (): Promise<void> => {
  if (await canReach(document.baseURI)) location.reload()
}

/** Of the views that could not be loaded and are shown. */
const retries = new Set<() => void>()

/** The server can be reached again. Chromium keeps a module that could not be loaded as failed until the page is loaded again. */
export const retryFailedViews = (): void => {
  for (const retry of [...retries]) retry()
}

/** `preload`: null when it is loaded. Rejects as its import does. So that a list can wait for what it is drawn with at first. */
export type Lazy<P> = ComponentType<P> & { preload(): Promise<unknown> | null }

export const lazy = <P extends object>(
  load: () => Promise<ComponentType<P>>,
  /** Renders nothing while loading, or this. */
  quiet: boolean | ComponentType = false,
  /** False for components styled by the main style sheet. */
  styled = true,
  /** Stands in for a view that could not be loaded; its children say so. */
  StandIn: ComponentType<{ children: ComponentChildren }> = Fragment,
): Lazy<P> => {
  /** Loaded once, then rendered synchronously. */
  const cache: State<P> = { view: null }
  const fetch = async () => {
    const [view] = await Promise.all([load(), styled ? loadLazyCss() : null])
    cache.view = view
    return view
  }
  const LazyView: ComponentType<P> = props => {
    const state = useSignal<State<P>>({ view: cache.view })
    const attempt = useSignal({ isAsked: false })
    useEffect(() => {
      // Another instance may have loaded it since this one was rendered.
      if (cache.view) {
        if (cache.view !== state.value.view) state.value = { view: cache.view }
        return
      }
      fetch().then(
        view => {
          state.value = { view }
        },
        // Offline, or the server was updated: offer a retry.
        () => {
          state.value = { view: 'failed' }
          if (attempt.value.isAsked) void reloadIfReachable()
        },
      )
    }, [attempt.value])
    useEffect(() => {
      if (state.value.view !== 'failed') return
      const retry = () => {
        attempt.value = { isAsked: false }
      }
      retries.add(retry)
      return () => void retries.delete(retry)
    }, [state.value.view])
    const View = state.value.view
    if (View === null) {
      return quiet === true ? null : h(quiet || Loading, {})
    }
    if (View !== 'failed') return <View {...props} />
    return (
      <StandIn>
        <div class="welcome" role="alert">
          <p>{t('view.failed')}</p>
          <Button
            icon="refresh"
            onClick={() => {
              attempt.value = { isAsked: true }
            }}
          >
            {t('list.retry')}
          </Button>
        </div>
      </StandIn>
    )
  }
  return Object.assign(LazyView, { preload: () => (cache.view ? null : fetch()) })
}
