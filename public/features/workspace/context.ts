/** How the parts of the panel reach its state. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Rooms } from './workspace-panel.ts'

export const RoomsContext = createContext<Rooms | null>(null)

export const useRooms = (): Rooms => {
  const rooms = useContext(RoomsContext)
  if (!rooms) throw new Error('a part of the panel was drawn outside it')
  return rooms
}
