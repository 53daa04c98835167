/** How a view reaches the state of the page. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { App } from '../../app.ts'

export const AppContext = createContext<App | null>(null)

export const useApp = (): App => {
  const app = useContext(AppContext)
  if (!app) throw new Error('a view was drawn outside the page')
  return app
}
