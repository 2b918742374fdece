package api

// A Page is what a list becomes when the query names a page.
type Page[T any] struct {
	TotalCount    int     `json:"total_count"`
	ItemCount     int     `json:"item_count"`
	FilteredCount int     `json:"filtered_count"`
	Page          int     `json:"page"`
	PageSize      int     `json:"page_size"`
	PageCount     int     `json:"page_count"`
	Items         List[T] `json:"items"`
}
