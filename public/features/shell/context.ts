/** Access to the state of the whole page, for code that acts across features. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { App } from '../../app.ts'

export const AppContext = createContext<App | null>(null)

export const useApp = (): App => {
  const app = useContext(AppContext)
  if (!app) throw new Error('a view was drawn outside the page')
  return app
}
