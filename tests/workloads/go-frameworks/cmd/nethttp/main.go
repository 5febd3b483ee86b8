// SPDX-License-Identifier: Apache-2.0

//go:debug httpmuxgo121=0

// A shop on net/http alone, with the patterns of Go 1.22: handlers made by functions, and types with ServeHTTP.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"strconv"
	"time"

	"example.org/shop/internal/app"
	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/store"
)

// handle decodes a request, lets a function answer it, and encodes the answer.
func handle[In, Out any](answer func(In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := answer(in)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	}
}

type created struct {
	ID string `json:"id"`
}

func handleOrders(orders *store.Table[*store.Order]) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var order store.Order
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(created{orders.Put(&order)})
	})
}

type pictureHandler struct{ cache store.Cache }

func (h *pictureHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("id")
	data, found := h.cache.Get(key)
	if !found {
		seed, _ := strconv.Atoi(key)
		data = report.Thumbnail(seed, 190)
		h.cache.Put(key, data)
	}
	_, _ = w.Write(data)
}

type accounts struct{ sessions *store.Sessions }

func (a *accounts) open(login store.Login) (created, error) {
	return created{a.sessions.Open(login.User)}, nil
}

type texts struct{ index *search.Index }

func (t texts) add(review store.Review) (int, error) { return t.index.Add(review.Text), nil }

func handleReport(reports *report.Reports) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(reports.Sales(r.PathValue("month")))
	}
}

func handleExport(exports *store.History[[]byte]) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data := make([]byte, 0, 1024)
		for row := 0; row < 4000; row++ {
			data = strconv.AppendInt(data, int64(row)*1_000_003, 10)
			data = append(data, r.URL.Path...)
		}
		exports.Add(data)
		_, _ = w.Write(data)
	}
}

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		next.ServeHTTP(w, r)
		if took := time.Since(start); took > 5*time.Second {
			log.Print(r.URL.Path, " took ", took)
		}
	})
}

func authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if app.Authorized(r.Header.Get("Authorization")) {
			next(w, r)
		} else {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

func main() {
	users := &accounts{store.NewSessions(app.Keep("POST /login"))}
	reviews := texts{search.New(app.Keep("POST /reviews"))}
	orders := handleOrders(store.NewTable[*store.Order](app.Keep("POST /orders")))
	pictures := &pictureHandler{store.NewCache(app.Keep("GET /pictures/{id}"))}
	reports := handleReport(report.New(store.NewCache(app.Keep("GET /reports/{month}"))))
	exports := handleExport(store.NewHistory[[]byte](app.Keep("GET /export/{what...}")))

	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", handle(users.open))
	mux.Handle("POST /reviews", authorized(handle(reviews.add)))
	mux.Handle("POST /orders", orders)
	mux.Handle("GET /pictures/{id}", pictures)
	mux.HandleFunc("GET /reports/{month}", authorized(reports))
	mux.HandleFunc("GET /export/{what...}", authorized(exports))

	listener, address := app.Listen()
	go func() { log.Fatal(http.Serve(listener, logged(mux))) }()
	app.Run(address, []app.Call{
		{Endpoint: "POST /login", Body: app.LoginBody(), Names: []any{users.open}},
		{Endpoint: "POST /reviews", Body: app.TextBody(), Names: []any{reviews.add}},
		{Endpoint: "POST /orders", Body: app.OrderBody(), Names: []any{orders}},
		{Endpoint: "GET /pictures/{id}", Path: "/pictures/%d", Names: []any{pictures.ServeHTTP}},
		{Endpoint: "GET /reports/{month}", Path: "/reports/%d", Names: []any{reports}},
		{Endpoint: "GET /export/{what...}", Path: "/export/orders/%d", Names: []any{exports}},
	})
}
