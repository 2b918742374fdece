package management

import (
	"net/http"
	"os"
)

// serveTool gives out this program, which is rabbitmqadmin under that name, and reports whether the
// request asks for it. Anybody may have it. Source: RabbitMQ management, /cli/rabbitmqadmin.
func (s *Server) serveTool(w http.ResponseWriter, hr *http.Request) bool {
	if s.options.Tool == "" || s.Below(hr) != "/cli/rabbitmqadmin" || hr.Method != http.MethodGet && hr.Method != http.MethodHead {
		return false
	}
	file, err := os.Open(s.options.Tool)
	if err != nil {
		s.Log.Warn("cannot serve rabbitmqadmin", "error", err)
		return false
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="rabbitmqadmin"`)
	http.ServeContent(w, hr, "", about.ModTime(), file)
	return true
}
